#include "train/torch/executor.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "graph/passes.h"
#include "train/torch/onednn_limit.h"

namespace cait {

namespace {

void check_input(const at::Tensor& images, const Node& node) {
    bool fits = images.dim() == 4 && images.is_floating_point();
    for (std::int64_t axis = 1; fits && axis < 4; ++axis)
        fits = images.size(axis) == node.shape[axis];
    if (fits) return;
    const auto sizes = images.sizes();
    throw Error(fmt::format("[input] expected float32 images {}, found {}", node.shape.to_string(),
                            Shape(std::vector(sizes.begin(), sizes.end())).to_string()));
}

at::Tensor compute(const Node& node, std::span<const at::Tensor> results,
                   const EvaluateContext& context) {
    std::vector<at::Tensor> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(results[input]);
    return evaluate(node, inputs, context);
}

}  // namespace

TorchExecutor::TorchExecutor(Graph graph)
    : recorded_(std::move(graph)), fused_(fuse(recorded_.graph)) {
    limit_onednn();
}

TorchTensors TorchExecutor::run(const at::Tensor& images, const TorchTensors& params,
                                const EvaluateContext& options) const {
    EvaluateContext context = options;
    const Plan& plan = context.watch ? recorded_ : fused_;
    const Graph& graph = plan.graph;
    context.mode = graph.mode;
    if (!context.memory) context.memory = std::make_shared<CpuMemory>();
    context.memory->set_parameters(params);
    std::vector<at::Tensor> results(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        at::Tensor& result = results[node.id];
        if (std::holds_alternative<op::Input>(node.op)) {
            check_input(images, node);
            result = images;
        } else if (const auto* param = std::get_if<op::Param>(&node.op)) {
            const std::string& name = graph.params[param->index].name;
            const auto found = params.find(name);
            if (found == params.end())
                throw Error(fmt::format("[param] no weights for '{}'", name));
            result = found->second;
        } else if (std::holds_alternative<op::Expand>(node.op)) {
            std::vector<std::int64_t> extents = node.shape.with_batch(images.size(0)).extents();
            result = results[node.inputs[0]].expand(extents);
        } else {
            try {
                result = compute(node, results, context);
            } catch (const c10::Error& error) {
                throw Error(fmt::format("[{}] {} failed in LibTorch: {} ({})", op_name(node.op),
                                        node.name, error.what_without_backtrace(),
                                        location_text(node.where)));
            }
        }
        if (context.watch) context.watch(node, result);
        for (const std::size_t id : plan.live.freed_after[node.id]) results[id] = at::Tensor();
    }
    TorchTensors outputs;
    for (const auto& [name, id] : graph.outputs) outputs[name] = results[id];
    return outputs;
}

}  // namespace cait
