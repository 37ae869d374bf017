#include "graph/liveness.h"

#include <algorithm>

namespace cait {

bool is_view(const Op& op) {
    return std::holds_alternative<op::Reshape>(op) || std::holds_alternative<op::Permute>(op) ||
           std::holds_alternative<op::Slice>(op) || std::holds_alternative<op::Expand>(op);
}

Liveness liveness(const Graph& graph, ViewUse views) {
    const std::size_t count = graph.nodes.size();
    Liveness result{std::vector<std::size_t>(count), std::vector<std::vector<std::size_t>>(count)};
    std::vector<std::size_t>& last_use = result.last_use;
    for (const Node& node : graph.nodes) {
        last_use[node.id] = node.id;
        for (const std::size_t input : node.inputs) last_use[input] = node.id;
    }
    for (const auto& [name, id] : graph.outputs) last_use[id] = count;
    // Backwards, so that a view of a view has heard of its readers before it tells its source.
    if (views == ViewUse::of_source)
        for (std::size_t id = count; id-- > 0;)
            if (is_view(graph.node(id).op))
                for (const std::size_t source : graph.node(id).inputs)
                    last_use[source] = std::max(last_use[source], last_use[id]);
    for (std::size_t id = 0; id < count; ++id)
        if (last_use[id] < count) result.freed_after[last_use[id]].push_back(id);
    return result;
}

}  // namespace cait
