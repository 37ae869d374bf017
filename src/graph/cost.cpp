#include "graph/cost.h"

#include <algorithm>

#include "graph/passes.h"

namespace cait {

namespace {

// Only primitives multiply and add; composites are decomposed before counting.
std::int64_t macs_of(const Node& node, const Graph& graph) {
    std::vector<Shape> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(graph.node(input).shape);
    return std::visit(
        [&](const auto& op) -> std::int64_t {
            if constexpr (requires { op.macs(inputs, node.shape); })
                return op.macs(inputs, node.shape);
            return 0;
        },
        node.op);
}

// Views and parameters take no activation memory of their own.
std::int64_t bytes_of(const Node& node) {
    const bool has_storage = node.shape.has_batch() && !is_view(node.op);
    return has_storage ? node.shape.count() * std::int64_t(size_of(dtype_of(node.op))) : 0;
}

// Runs the nodes in order and frees each result after its last use, as an executor would.
std::int64_t peak_bytes(const Graph& graph) {
    const Liveness live = liveness(graph, ViewUse::of_source);
    std::int64_t alive = 0;
    std::int64_t peak = 0;
    for (const Node& node : graph.nodes) {
        alive += bytes_of(node);
        peak = std::max(peak, alive);
        for (const std::size_t id : live.freed_after[node.id]) alive -= bytes_of(graph.node(id));
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
    cost.inference_bytes = peak_bytes(fuse(graph));
    return cost;
}

}  // namespace cait
