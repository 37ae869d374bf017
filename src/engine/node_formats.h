// The number format of each node's products: a decision of the plan, made from shapes and names
// alone, so that it can be shown without weights and is the same wherever the model runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/format.h"

namespace cait::engine {

struct FormatRules {
    kernels::Format wanted = kernels::Format::f32;
    // int8: nodes that read a parameter whose name matches one of these patterns (*, ?, [a-z]) keep
    // the format that stands beside int8.
    std::vector<std::string> keep = {};
};

// By the name of the node; nodes without products are not in it. `graph` is what a plan runs,
// before its constants are computed (runnable_graph()). Throws UsageError for a pattern that
// matches no parameter of the graph.
std::map<std::string, kernels::Format> node_formats(const Graph& graph, const FormatRules& rules);

// The parameters that int8 products of these nodes read as their weights, as models name them: of
// a branch both matrices, of a convolution with a batch norm in its weights the filters alone.
std::vector<std::string> quantized_params(const Graph& graph, const FormatRules& rules);

// By the name of the node: all parameters that it reads, folded ones included.
std::map<std::string, std::vector<std::string>> node_params(const Graph& graph);

// Names of a list "blocks.0.*,head.*".
std::vector<std::string> patterns_of(const std::string& list);

}  // namespace cait::engine
