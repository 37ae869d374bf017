#include "graph/reference.h"

#include <fmt/format.h>

#include "base/convert.h"
#include "cait/error.h"
#include "graph/id_limits.h"
#include "graph/match_inputs.h"
#include "graph/passes.h"

namespace cait {

namespace {

// Leaves were supplied and composites decomposed, and dropping is for training.
template <class Op>
constexpr bool kNeedsNoLoop =
    std::is_same_v<Op, op::Input> || std::is_same_v<Op, op::Param> || requires {
    &Op::decompose;
}
|| requires { Op::kTrainingOnly; };

Tensor compute_node(const Node& node, op::Tensors inputs, const Shape& shape) {
    return std::visit(
        [&]<class Op>(const Op& op) -> Tensor {
            if constexpr (!kNeedsNoLoop<Op>)
                return op.compute(inputs, shape);
            else
                throw Error(fmt::format("[{}] has no meaning at inference ({})", op_name(node.op),
                                        location_text(node.where)));
        },
        node.op);
}

}  // namespace

std::map<std::string, Tensor> run_reference(const Graph& graph, const NamedInputs<Tensor>& inputs,
                                            const WeightMap& weights) {
    if (graph.mode != Mode::infer)
        throw Error("[reference] expected a graph recorded for inference, got one for training");
    const Graph primitives = decompose(graph);
    const Liveness live = liveness(primitives);
    const std::vector<Tensor> given = match_inputs(primitives.inputs(), inputs, type_of);
    const std::vector<std::int64_t> limits = id_limits(primitives);
    for (std::size_t i = 0; i < given.size(); ++i)
        if (limits[i] > 0) check_ids(primitives.inputs()[i], given[i].integers(), limits[i]);
    auto next = given.begin();
    std::vector<Tensor> results(primitives.nodes.size());
    for (const Node& node : primitives.nodes) {
        if (std::holds_alternative<op::Input>(node.op)) {
            results[node.id] = *next++;
        } else if (const auto* param = std::get_if<op::Param>(&node.op)) {
            results[node.id] = float_weight_of(primitives.params[param->index], weights);
        } else {
            std::vector<Tensor> operands;
            for (const std::size_t input : node.inputs) operands.push_back(results[input]);
            const Shape shape =
                node.shape.has_batch() ? node.shape.with_batch(given.at(0).shape()[0]) : node.shape;
            results[node.id] = compute_node(node, operands, shape);
        }
        for (const std::size_t id : live.freed_after[node.id]) results[id] = Tensor();
    }
    std::map<std::string, Tensor> outputs;
    for (const auto& [name, id] : primitives.outputs) outputs[name] = results[id];
    return outputs;
}

}  // namespace cait
