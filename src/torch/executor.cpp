#include "torch/executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "torch/kernel_evaluate.h"

namespace cait {

TorchExecutor::TorchExecutor(Graph graph)
    : graph_(std::move(graph)),
      branches_(find_branches(graph_)),
      covered_(graph_.nodes.size(), false),
      freed_after_(graph_.nodes.size()) {
    // What a covered node reads is read where its branch ends.
    std::vector<std::size_t> read_at(graph_.nodes.size());
    for (const Node& node : graph_.nodes) read_at[node.id] = node.id;
    for (const Node& node : graph_.nodes)
        if (branches_[node.id])
            for (const std::size_t id : branches_[node.id]->covered) {
                covered_[id] = true;
                read_at[id] = node.id;
            }
    std::vector<std::size_t> last_use(graph_.nodes.size());
    for (const Node& node : graph_.nodes) {
        last_use[node.id] = std::max(last_use[node.id], read_at[node.id]);
        for (const std::size_t input : node.inputs)
            last_use[input] = std::max(last_use[input], read_at[node.id]);
    }
    std::vector<bool> is_output(graph_.nodes.size(), false);
    for (const auto& [name, id] : graph_.outputs) is_output[id] = true;
    for (const Node& node : graph_.nodes)
        if (!is_output[node.id]) freed_after_[last_use[node.id]].push_back(node.id);
}

void TorchExecutor::check_input(const at::Tensor& images, const Node& node) const {
    bool fits = images.dim() == 4 && images.is_floating_point();
    for (std::int64_t axis = 1; fits && axis < 4; ++axis)
        fits = images.size(axis) == node.shape[axis];
    if (fits) return;
    const auto sizes = images.sizes();
    throw Error(fmt::format("[input] expected float32 images {}, found {}", node.shape.to_string(),
                            Shape(std::vector(sizes.begin(), sizes.end())).to_string()));
}

TorchTensors TorchExecutor::run(const at::Tensor& images, const TorchTensors& params,
                                const EvaluateContext& options) const {
    EvaluateContext context = options;
    context.mode = graph_.mode;
    const bool fused = kernels_apply(images, context) && !context.watch;
    std::vector<at::Tensor> results(graph_.nodes.size());
    for (const Node& node : graph_.nodes) {
        if (fused && covered_[node.id]) continue;
        at::Tensor& result = results[node.id];
        if (std::holds_alternative<op::Input>(node.op)) {
            check_input(images, node);
            result = images;
        } else if (const auto* param = std::get_if<op::Param>(&node.op)) {
            const std::string& name = graph_.params[param->index].name;
            const auto found = params.find(name);
            if (found == params.end())
                throw Error(fmt::format("[param] no weights for '{}'", name));
            result = found->second;
        } else if (std::holds_alternative<op::Expand>(node.op)) {
            std::vector<std::int64_t> extents = node.shape.with_batch(images.size(0)).extents();
            result = results[node.inputs[0]].expand(extents);
        } else {
            try {
                result = compute(node, results, fused, context);
            } catch (const c10::Error& error) {
                throw Error(fmt::format("[{}] {} failed in LibTorch: {} ({})", op_name(node.op),
                                        node.name, error.what_without_backtrace(),
                                        location_text(node.where)));
            }
        }
        if (context.watch) context.watch(node, result);
        for (const std::size_t id : freed_after_[node.id]) results[id] = at::Tensor();
    }
    TorchTensors outputs;
    for (const auto& [name, id] : graph_.outputs) outputs[name] = results[id];
    return outputs;
}

at::Tensor TorchExecutor::compute(const Node& node, std::span<const at::Tensor> results, bool fused,
                                  const EvaluateContext& context) const {
    if (fused && branches_[node.id])
        return evaluate_branch(*branches_[node.id], node, results, context);
    std::vector<at::Tensor> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(results[input]);
    return evaluate(node, inputs, context);
}

}  // namespace cait
