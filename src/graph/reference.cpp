#include "graph/reference.h"

#include <fmt/format.h>

#include "base/convert.h"
#include "cait/error.h"
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

const Tensor& weight_of(const ParamSpec& spec, const WeightMap& weights) {
    const auto found = weights.find(spec.name);
    if (found == weights.end()) throw Error(fmt::format("[param] no weights for '{}'", spec.name));
    if (found->second.shape() != spec.shape)
        throw Error(fmt::format("[param] {}: expected {}, found {}", spec.name,
                                spec.shape.to_string(), found->second.shape().to_string()));
    return found->second;
}

void check_images(const Node& node, const Tensor& images) {
    const bool fits = images.defined() && images.dtype() == DType::f32 &&
                      images.shape().rank() == 4 &&
                      images.shape() == node.shape.with_batch(images.shape()[0]);
    if (!fits)
        throw Error(
            fmt::format("[input] expected float32 images {}, found {}", node.shape.to_string(),
                        images.defined() ? images.shape().to_string() : std::string("none")));
}

}  // namespace

std::map<std::string, Tensor> run_reference(const Graph& graph, const Tensor& images,
                                            const WeightMap& weights) {
    if (graph.mode != Mode::infer)
        throw Error("[reference] expected a graph recorded for inference, got one for training");
    const Graph primitives = decompose(graph);
    const Liveness live = liveness(primitives);
    std::vector<Tensor> results(primitives.nodes.size());
    for (const Node& node : primitives.nodes) {
        if (std::holds_alternative<op::Input>(node.op)) {
            check_images(node, images);
            results[node.id] = images;
        } else if (const auto* param = std::get_if<op::Param>(&node.op)) {
            const Tensor& weight = weight_of(primitives.params[param->index], weights);
            results[node.id] = convert(weight, DType::f32);
        } else {
            std::vector<Tensor> inputs;
            for (const std::size_t input : node.inputs) inputs.push_back(results[input]);
            const Shape shape =
                node.shape.has_batch() ? node.shape.with_batch(images.shape()[0]) : node.shape;
            results[node.id] = compute_node(node, inputs, shape);
        }
        for (const std::size_t id : live.freed_after[node.id]) results[id] = Tensor();
    }
    std::map<std::string, Tensor> outputs;
    for (const auto& [name, id] : primitives.outputs) outputs[name] = results[id];
    return outputs;
}

}  // namespace cait
