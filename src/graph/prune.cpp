// Takes out what no output needs. Recording and every pass end here, so that they may leave nodes
// behind that nobody reads.
#include "graph/graph.h"

namespace cait {

Graph prune(const Graph& graph) {
    std::vector<bool> needed(graph.nodes.size(), false);
    for (const auto& [name, id] : graph.outputs) needed[id] = true;
    for (std::size_t id = graph.nodes.size(); id-- > 0;)
        if (needed[id])
            for (const std::size_t input : graph.nodes[id].inputs) needed[input] = true;

    Graph result;
    result.params = graph.params;
    result.left_out = graph.left_out;
    result.mode = graph.mode;
    result.patch_grid = graph.patch_grid;
    std::vector<std::size_t> renumbered(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        if (!needed[node.id]) continue;
        Node kept = node;
        kept.id = renumbered[node.id] = result.nodes.size();
        for (std::size_t& input : kept.inputs) input = renumbered[input];
        result.nodes.push_back(std::move(kept));
    }
    for (const auto& [name, id] : graph.outputs) result.outputs[name] = renumbered[id];
    return result;
}

}  // namespace cait
