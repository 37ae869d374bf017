#include "train/torch/torch_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "cait/error.h"
#include "graph/match_inputs.h"
#include "graph/passes.h"
#include "kernels/format.h"
#include "models/catalogue.h"
#include "system/file_guard.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {

namespace {

// Batch norms go into the weights before them, and with them what keeps re-attention from being
// fused. What else could go there costs the branch kernels nothing, so that without batch norms the
// weights stay as they are: mapped from their file.
ComputedConstants computation_of(const Model& model, const std::vector<std::string>& taps) {
    Graph graph = record(model.spec(), {.taps = taps.empty() ? default_taps(model.spec()) : taps});
    const bool pays = std::ranges::any_of(graph.nodes, [](const Node& node) {
        return std::holds_alternative<op::BatchNorm>(node.op);
    });
    if (pays) return compute_constants(lower(graph), model.weights());
    return {std::move(graph), model.weights()};
}

class TorchSession final : public Executor {
public:
    TorchSession(const Model& model, Precision precision, at::Device device)
        : model_(model), precision_(precision), device_(device) {
        if (!kernels::row_of(precision).trains)
            throw UsageError(fmt::format("precision: LibTorch has fp32 and bf16, found {}",
                                         kernels::row_of(precision).precision_name));
    }

    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override;

private:
    // What a set of taps takes, kept from one run to the next.
    struct Prepared {
        TorchExecutor executor;
        TorchTensors weights;
        EvaluateContext context;
    };
    const Prepared& prepared(const std::vector<std::string>& taps) const;

    Model model_;
    Precision precision_;
    at::Device device_;
    mutable std::mutex mutex_;
    mutable std::map<std::set<std::string>, std::unique_ptr<Prepared>> prepared_;
};

const TorchSession::Prepared& TorchSession::prepared(const std::vector<std::string>& taps) const {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Prepared>& kept = prepared_[{taps.begin(), taps.end()}];
    if (kept) return *kept;
    const ComputedConstants computation = computation_of(model_, taps);
    auto made = std::make_unique<Prepared>(Prepared{TorchExecutor(computation.graph), {}, {}});
    for (const auto& [name, tensor] : computation.weights)
        made->weights[name] = to_torch(tensor).to(device_, at::kFloat).contiguous();
    made->context.precision = precision_;
    made->context.memory = std::make_shared<CpuMemory>();
    made->context.weights_version = 0;  // they do not change here
    return *(kept = std::move(made));
}

std::map<std::string, Tensor> TorchSession::run(const NamedInputs<Tensor>& inputs,
                                                const std::vector<std::string>& taps) const {
    const at::InferenceMode no_gradients;
    const Prepared& with = prepared(taps);
    NamedInputs<at::Tensor> given;
    const std::vector<op::Input> takes = with.executor.graph().inputs();
    const std::vector<Tensor> tensors = match_inputs(takes, inputs, type_of);
    if (tensors.at(0).shape()[0] == 0) throw Error("expected at least one image, found none");
    for (std::size_t i = 0; i < takes.size(); ++i)
        given[takes[i].name] = to_torch(tensors[i]).to(device_);
    std::map<std::string, Tensor> results;
    for (const auto& [name, tensor] : with.executor.run(given, with.weights, with.context))
        results[name] = from_torch(tensor);
    check_mapped_files();
    return results;
}

}  // namespace

std::unique_ptr<Executor> make_torch_session(const Model& model, Precision precision,
                                             const std::string& device) {
    return std::make_unique<TorchSession>(model, precision, at::Device(device));
}

}  // namespace cait
