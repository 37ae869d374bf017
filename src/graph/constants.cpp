#include "graph/passes.h"

#include <fmt/format.h>

#include <set>

#include "base/quantized.h"
#include "graph/reference.h"

namespace cait {

namespace {

// By node: no image behind it. A batch comes only from an image or from an expansion.
std::vector<bool> constants_of(const Graph& graph) {
    std::vector<bool> is_constant(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        bool constant = !node.shape.has_batch();
        for (const std::size_t input : node.inputs) constant = constant && is_constant[input];
        is_constant[node.id] = constant;
    }
    return is_constant;
}

bool is_param(const Node& node) { return std::holds_alternative<op::Param>(node.op); }

// Computed weights that something else than another weight reads, by the name that they get.
std::map<std::string, std::size_t> frontier_of(const Graph& graph) {
    const std::vector<bool> is_constant = constants_of(graph);
    std::set<std::size_t> read;
    for (const Node& node : graph.nodes)
        if (!is_constant[node.id]) read.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, id] : graph.outputs) read.insert(id);

    std::set<std::string> taken;
    for (const ParamSpec& spec : graph.params) taken.insert(spec.name);
    std::map<std::string, std::size_t> frontier;
    for (const std::size_t id : read) {
        const Node& node = graph.node(id);
        if (!is_constant[id] || is_param(node)) continue;
        std::string name = node.name;
        for (int again = 1; !taken.insert(name).second; ++again)
            name = fmt::format("{}.{}", node.name, again);
        frontier[name] = id;
    }
    return frontier;
}

// Without parameters that no node reads.
void drop_unread_params(Graph& graph) {
    std::vector<ParamSpec> params;
    for (Node& node : graph.nodes)
        if (auto* param = std::get_if<op::Param>(&node.op)) {
            params.push_back(graph.params[param->index]);
            param->index = params.size() - 1;
        }
    graph.params = std::move(params);
}

}  // namespace

ComputedConstants compute_constants(const Graph& graph, const WeightMap& weights) {
    const std::map<std::string, std::size_t> frontier = frontier_of(graph);
    Graph of_weights = graph;
    of_weights.outputs = frontier;
    ComputedConstants result{graph, run_reference(prune(of_weights), {}, weights)};

    for (const auto& [name, id] : frontier) {
        Node& node = result.graph.nodes[id];
        result.graph.params.push_back({name, node.shape, Init::zeros(), {}, false});
        node.op = op::Param{result.graph.params.size() - 1};
        node.inputs.clear();
    }
    result.graph = prune(result.graph);
    drop_unread_params(result.graph);
    const auto keep = [&](const std::string& name) {
        if (const auto found = weights.find(name); found != weights.end())
            result.weights.emplace(name, found->second);
    };
    for (const ParamSpec& spec : result.graph.params) {
        const auto computed = result.weights.contains(spec.name);
        keep(spec.name);
        if (!computed && result.weights.contains(spec.name) &&
            result.weights.at(spec.name).dtype() == DType::i8)
            keep(scale_name(spec.name));
    }
    return result;
}

}  // namespace cait
