#include "train/torch/executor.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "graph/id_limits.h"
#include "graph/match_inputs.h"
#include "graph/passes.h"
#include "train/torch/convert.h"
#include "train/torch/fake_quantize.h"
#include "train/torch/onednn_limit.h"

namespace cait {

namespace {

at::Tensor compute(const Node& node, std::span<const at::Tensor> results,
                   const EvaluateContext& context) {
    std::vector<at::Tensor> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(results[input]);
    return evaluate(node, inputs, context);
}

Graph runnable(const Graph& graph) {
    return decompose(graph, [](const Op& op) { return !has_torch_form(op); });
}

}  // namespace

TorchExecutor::Plan::Plan(Graph of)
    : graph(std::move(of)),
      inputs(graph.inputs()),
      id_limits(cait::id_limits(graph)),
      live(liveness(graph)) {}

TorchExecutor::TorchExecutor(const Graph& graph)
    : recorded_(runnable(graph)), fused_(runnable(fuse(recorded_.graph))) {
    limit_onednn();
}

const std::set<std::string>& TorchExecutor::quantized_of(const Plan& plan) const {
    std::call_once(plan.quantized->once,
                   [&] { plan.quantized->nodes = quantized_nodes(recorded_.graph, plan.graph); });
    return plan.quantized->nodes;
}

TorchTensors TorchExecutor::run(const NamedInputs<at::Tensor>& inputs, const TorchTensors& params,
                                const EvaluateContext& options) const {
    EvaluateContext context = options;
    const Plan& plan = context.watch ? recorded_ : fused_;
    const Graph& graph = plan.graph;
    context.mode = graph.mode;
    if (context.quantize) context.quantized_nodes = &quantized_of(plan);
    if (!context.memory) context.memory = std::make_shared<CpuMemory>();
    context.memory->set_parameters(params);
    const std::vector<at::Tensor> given = match_inputs(plan.inputs, inputs, type_of_torch);
    for (std::size_t i = 0; i < given.size(); ++i)
        if (plan.id_limits[i] > 0)
            check_ids(plan.inputs[i], from_torch(given[i]).integers(), plan.id_limits[i]);
    auto next = given.begin();
    std::vector<at::Tensor> results(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        at::Tensor& result = results[node.id];
        if (std::holds_alternative<op::Input>(node.op)) {
            result = *next++;
        } else if (const auto* param = std::get_if<op::Param>(&node.op)) {
            const std::string& name = graph.params[param->index].name;
            const auto found = params.find(name);
            if (found == params.end())
                throw Error(fmt::format("[param] no weights for '{}'", name));
            result = found->second;
        } else if (std::holds_alternative<op::Expand>(node.op)) {
            const std::int64_t batch = given.at(0).size(0);
            result = results[node.inputs[0]].expand(node.shape.with_batch(batch).extents());
        } else {
            try {
                result = compute(node, results, context);
                if (node.inputs.empty()) result = result.to(given.at(0).device());
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
