// The passes of a few lines: prune, decompose, liveness.
#include "graph/passes.h"

#include <algorithm>

#include "graph/builder.h"

namespace cait {

std::vector<op::Input> Graph::inputs() const {
    std::vector<op::Input> inputs;
    for (const Node& node : nodes)
        if (const auto* input = std::get_if<op::Input>(&node.op)) inputs.push_back(*input);
    return inputs;
}

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

Graph decompose(const Graph& graph) {
    return decompose(graph, [](const Op&) { return true; });
}

Graph decompose(const Graph& graph, const std::function<bool(const Op&)>& which) {
    Builder b = Builder::rewriting(graph);
    std::vector<Value> replaced(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        std::vector<Value> inputs;
        for (const std::size_t id : node.inputs) inputs.push_back(replaced[id]);
        replaced[node.id] = std::visit(
            [&](const auto& op) {
                if constexpr (requires { op.decompose(b, inputs, node.where); })
                    if (which(node.op)) {
                        const Builder::Scope scope = b.scope(node.name);
                        return op.decompose(b, inputs, node.where);
                    }
                return b.copy(node, inputs);
            },
            node.op);
    }
    for (const auto& [name, id] : graph.outputs) b.output(name, replaced[id]);
    return b.finish();
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
