#include "train/evaluate_model.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "torch/convert.h"

namespace cait {

namespace {

constexpr const char* kLogits = "logits";

bool is_decision(const std::string& output) { return output.starts_with(kLogits); }

std::size_t class_count(const Graph& graph) {
    const auto found = graph.outputs.find(kLogits);
    if (found == graph.outputs.end())
        throw Error("evaluate: expected a graph with the output 'logits'");
    return std::size_t(graph.nodes[found->second].shape[-1]);
}

// Each of the graph's decisions as (images, classes), float32 on the CPU.
TorchTensors logits_of(const TorchExecutor& executor, const TorchTensors& params,
                       const at::Tensor& images, const EvaluateContext& context, bool flip) {
    constexpr std::int64_t kWidthAxis = 3;
    TorchTensors outputs = executor.run(images, params, context);
    TorchTensors mirrored;
    if (flip) mirrored = executor.run(images.flip({kWidthAxis}), params, context);
    TorchTensors results;
    for (const auto& [name, tensor] : outputs) {
        if (!is_decision(name)) continue;
        at::Tensor logits = tensor.to(at::kFloat);
        if (flip) logits = (logits + mirrored.at(name).to(at::kFloat)) / 2;
        results[name] = logits.to(at::kCPU).contiguous();
    }
    return results;
}

std::span<const float> row_of(const at::Tensor& logits, std::size_t row) {
    const auto width = std::size_t(logits.size(1));
    return {logits.data_ptr<float>() + row * width, width};
}

}  // namespace

Evaluation evaluate_model(const TorchExecutor& executor, const TorchTensors& given, Loader& loader,
                          EvaluateContext context, const EvaluateModelOptions& options) {
    const at::InferenceMode no_gradients;
    // Weights do not change here: converted and packed once.
    TorchTensors params;
    for (const auto& [name, tensor] : given) params[name] = tensor.to(at::kFloat).contiguous();
    context.memory = std::make_shared<CpuMemory>();
    context.weights_version = 0;
    Evaluation result{Metrics(class_count(executor.graph()), options.worst), {}, {}};
    const at::Device device =
        params.empty() ? at::Device(at::kCPU) : params.begin()->second.device();
    while (const Batch* batch = loader.next()) {
        const at::Tensor images = to_torch(batch->images()).to(device);
        const TorchTensors outputs = logits_of(executor, params, images, context, options.flip);
        for (std::size_t i = 0; i < batch->size; ++i) {
            if (batch->keys[i].copy != 0) continue;  // stands in for an unreadable image
            const auto index = std::size_t(batch->keys[i].sample);
            const std::vector<std::int64_t> labels = options.labels != nullptr
                                                         ? options.labels->labels(index)
                                                         : std::vector{batch->labels[i]};
            result.indices.push_back(index);
            for (const auto& [name, logits] : outputs) {
                const std::span<const float> row = row_of(logits, i);
                const std::int64_t decision = name == kLogits
                                                  ? result.metrics.add(index, row, labels)
                                                  : std::ranges::max_element(row) - row.begin();
                result.decisions[name].push_back(decision);
            }
        }
        if (options.progress) options.progress(result.indices.size());
    }
    return result;
}

}  // namespace cait
