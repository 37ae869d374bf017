// Finds the residual branches of transformer blocks in a graph, which the CPU runs as one function
// each: residual(x, linear(gelu(linear(layer_norm(x)))), gain) and residual(x,
// linear(attention(slices of linear(layer_norm(x)))), gain).
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace cait {

// A branch, named by the ids of the nodes that the function reads.
struct FusedBranch {
    std::size_t x = 0, norm_weight = 0, norm_bias = 0;
    double epsilon = 0;
    std::optional<std::size_t> gain;
    // fc1 and fc2, or qkv and proj.
    std::size_t weight1 = 0, weight2 = 0;
    std::optional<std::size_t> bias1, bias2;
    std::optional<op::AttentionOptions> attention;  // none: an MLP
    std::vector<std::size_t> mixes;
    std::vector<std::size_t> covered;  // nodes that need not be run by themselves
};

// One entry per node; set where a branch ends, at its residual. A node is covered only when nothing
// outside the branch reads it.
std::vector<std::optional<FusedBranch>> find_branches(const Graph& graph);

}  // namespace cait
