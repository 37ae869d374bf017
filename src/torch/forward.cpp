// cait/train.h: a forward pass over as many images as are given, a batch at a time.
#include <fmt/format.h>

#include <algorithm>

#include "cait/train.h"
#include "graph/lower.h"
#include "models/catalogue.h"
#include "torch/convert.h"
#include "torch/executor.h"
#include "walkers/constants.h"

namespace cait {

namespace {

// Batch norms go into the weights before them, and with them what keeps re-attention from being
// fused. What else could go there costs the branch kernels nothing, so that without batch norms the
// weights stay as they are: mapped from their file.
ComputedConstants computation_of(const Model& model, const std::vector<std::string>& taps) {
    Graph graph = record(model.spec(), {.taps = taps});
    const bool pays = std::ranges::any_of(graph.nodes, [](const Node& node) {
        return std::holds_alternative<op::BatchNorm>(node.op);
    });
    if (pays) return compute_constants(lower(graph), model.weights());
    return {std::move(graph), model.weights()};
}

}  // namespace

std::map<std::string, Tensor> forward(const Model& model, const Tensor& images,
                                      const ForwardOptions& options) {
    if (options.batch == 0) throw UsageError("batch: expected at least 1, found 0");
    const at::InferenceMode no_gradients;
    const ComputedConstants computation = computation_of(model, options.taps);
    const TorchExecutor executor(computation.graph);
    TorchTensors params;
    for (const auto& [name, tensor] : computation.weights)
        params[name] = to_torch(tensor).to(at::kFloat).contiguous();
    EvaluateContext context{.precision = options.precision};
    context.memory = std::make_shared<CpuMemory>();
    context.weights_version = 0;  // they do not change here

    if (images.dtype() != DType::f32 || images.shape().rank() != 4)
        throw Error(fmt::format("expected float32 images [B, C, H, W], found {} {}",
                                name_of(images.dtype()), images.shape().to_string()));
    const at::Tensor input = to_torch(images);
    std::map<std::string, std::vector<at::Tensor>> parts;
    for (std::int64_t begin = 0; begin < input.size(0); begin += std::int64_t(options.batch)) {
        const std::int64_t end = std::min(begin + std::int64_t(options.batch), input.size(0));
        const TorchTensors outputs = executor.run(input.slice(0, begin, end), params, context);
        for (const auto& [name, tensor] : outputs) parts[name].push_back(tensor.to(at::kFloat));
        if (options.progress) options.progress(std::size_t(end), std::size_t(input.size(0)));
    }
    if (parts.empty()) throw Error("expected at least one image, found none");
    std::map<std::string, Tensor> results;
    for (const auto& [name, tensors] : parts) results[name] = from_torch(at::cat(tensors, 0));
    return results;
}

}  // namespace cait
