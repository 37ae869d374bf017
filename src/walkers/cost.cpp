#include "walkers/cost.h"

#include <algorithm>

namespace cait {

namespace {

// Only these primitives multiply and add; composites are decomposed before counting.
std::int64_t macs_of(const Node& node, const Graph& graph) {
    const auto input = [&](std::size_t i) -> const Shape& {
        return graph.node(node.inputs[i]).shape;
    };
    return std::visit(Overloaded{
                          [&](const op::Linear&) { return node.shape.count() * input(1)[1]; },
                          [&](const op::MatMul&) { return node.shape.count() * input(0)[-1]; },
                          [&](const op::Conv2d&) {
                              const Shape& kernel = input(1);
                              return node.shape.count() * kernel[1] * kernel[2] * kernel[3];
                          },
                          [](const auto&) { return std::int64_t{0}; },
                      },
                      node.op);
}

// Views and parameters take no activation memory of their own.
bool has_storage(const Node& node) {
    return node.shape.has_batch() && !std::holds_alternative<op::Reshape>(node.op) &&
           !std::holds_alternative<op::Slice>(node.op) &&
           !std::holds_alternative<op::Permute>(node.op) &&
           !std::holds_alternative<op::Expand>(node.op);
}

std::int64_t bytes_of(const Node& node) {
    return has_storage(node) ? node.shape.count() * std::int64_t(sizeof(float)) : 0;
}

// Runs the nodes in order and frees each result after its last use, as an executor would.
std::int64_t peak_bytes(const Graph& graph) {
    std::vector<std::size_t> last_use(graph.nodes.size());
    const auto uses_through_views = [&](std::size_t id, std::size_t when,
                                        const auto& self) -> void {
        last_use[id] = std::max(last_use[id], when);
        if (!has_storage(graph.node(id)))
            for (const std::size_t source : graph.node(id).inputs) self(source, when, self);
    };
    for (const Node& node : graph.nodes)
        for (const std::size_t input : node.inputs)
            uses_through_views(input, node.id, uses_through_views);
    for (const auto& [name, id] : graph.outputs)
        uses_through_views(id, graph.nodes.size(), uses_through_views);

    std::vector<std::vector<std::size_t>> freed_after(graph.nodes.size() + 1);
    for (const Node& node : graph.nodes) freed_after[last_use[node.id]].push_back(node.id);
    std::int64_t alive = 0;
    std::int64_t peak = 0;
    for (const Node& node : graph.nodes) {
        alive += bytes_of(node);
        peak = std::max(peak, alive);
        for (const std::size_t id : freed_after[node.id]) alive -= bytes_of(graph.node(id));
    }
    return peak;
}

}  // namespace

Cost estimate_cost(const Graph& graph) {
    Cost cost;
    for (const ParamSpec& spec : graph.params) {
        if (spec.role.kind == ParamRole::Kind::statistic) continue;
        cost.params += spec.shape.count();
        if (spec.trainable) cost.trainable += spec.shape.count();
    }
    const Graph primitives = decompose(graph);
    for (const Node& node : primitives.nodes) {
        cost.macs += macs_of(node, primitives);
        cost.training_bytes += bytes_of(node);
    }
    cost.inference_bytes = peak_bytes(graph);
    return cost;
}

}  // namespace cait
