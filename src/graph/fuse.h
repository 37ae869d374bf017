// Fusion, found once for every walker: the composites that a CPU runs better in one piece.
#pragma once

#include "graph/graph.h"

namespace cait {

// The same graph with
// - residual(x, fc2(gelu(fc1(layer_norm(x)))), gain) as MlpBranch,
// - residual(x, proj(attention(the thirds of qkv(layer_norm(x)))), gain) as AttentionBranch,
// - convolutions whose windows do not overlap as PatchEmbed.
// A branch is fused only when nothing else reads what is inside it, outputs included. It takes the
// residual's name, under which stochastic depth draws its numbers.
Graph fuse(const Graph& graph);

}  // namespace cait
