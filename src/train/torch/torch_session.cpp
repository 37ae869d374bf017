#include "train/torch/torch_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <set>

#include "cait/error.h"
#include "graph/match_inputs.h"
#include "graph/passes.h"
#include "kernels/format.h"
#include "models/catalogue.h"
#include "models/text_inputs.h"
#include "system/file_guard.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {

namespace {

// Batch norms go into the weights before them, and with them what keeps re-attention from being
// fused. What else could go there costs the branch kernels nothing, so that without batch norms the
// weights stay as they are: mapped from their file.
ComputedConstants computation_of(const Model& model, RecordOptions options) {
    if (options.taps.empty()) options.taps = default_taps(model.spec());
    Graph graph = record(model.spec(), options);
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
    // What a set of taps, at these lengths of sentences, takes: kept from one run to the next.
    struct Prepared {
        TorchExecutor executor;
        TorchTensors weights;
        EvaluateContext context;
    };
    using Key = std::pair<std::set<std::string>, TextSize>;
    std::shared_ptr<const Prepared> prepared(const NamedInputs<Tensor>& inputs,
                                             const std::vector<std::string>& taps) const;
    std::shared_ptr<const Prepared> prepare(const RecordOptions& options) const;

    Model model_;
    Precision precision_;
    at::Device device_;
    mutable std::mutex mutex_;
    mutable std::map<Key, std::shared_ptr<const Prepared>> prepared_;
    mutable std::list<Key> lengths_;  // of those for sentences, the one used last first
    std::shared_ptr<CpuMemory> memory_ = std::make_shared<CpuMemory>();
};

std::shared_ptr<const TorchSession::Prepared> TorchSession::prepare(
    const RecordOptions& options) const {
    const ComputedConstants computation = computation_of(model_, options);
    auto made = std::make_shared<Prepared>(Prepared{TorchExecutor(computation.graph), {}, {}});
    for (const auto& [name, tensor] : computation.weights)
        made->weights[name] = to_torch(tensor).to(device_, at::kFloat).contiguous();
    made->context.precision = precision_;
    // For all lengths of sentences the weights are the same.
    made->context.memory = options.text_size ? memory_ : std::make_shared<CpuMemory>();
    made->context.weights_version = 0;  // they do not change here
    return made;
}

std::shared_ptr<const TorchSession::Prepared> TorchSession::prepared(
    const NamedInputs<Tensor>& inputs, const std::vector<std::string>& taps) const {
    constexpr std::size_t kMostLengths = 64;
    RecordOptions options{.taps = taps};
    if (takes_text(model_.spec())) options.text_size = text_size_of(inputs);
    const Key key{{taps.begin(), taps.end()}, options.text_size.value_or(TextSize())};
    const std::lock_guard lock(mutex_);
    if (options.text_size) {
        lengths_.remove(key);
        lengths_.push_front(key);
    }
    std::shared_ptr<const Prepared>& kept = prepared_[key];
    if (!kept) kept = prepare(options);
    const std::shared_ptr<const Prepared> result = kept;
    if (lengths_.size() > kMostLengths) {
        prepared_.erase(lengths_.back());
        lengths_.pop_back();
    }
    return result;
}

std::map<std::string, Tensor> TorchSession::run(const NamedInputs<Tensor>& inputs,
                                                const std::vector<std::string>& taps) const {
    const at::InferenceMode no_gradients;
    const std::shared_ptr<const Prepared> use = prepared(inputs, taps);
    const Prepared& with = *use;
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
