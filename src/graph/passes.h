// The passes, Graph → Graph, and what they find out. prune() and decompose() are in graph.h.
#pragma once

#include "graph/graph.h"
#include "graph/initialize.h"

namespace cait {

// Fusion, found once for every walker: the composites that a CPU runs better in one piece.
// The same graph with
// - residual(x, fc2(gelu(fc1(layer_norm(x)))), gain) as MlpBranch,
// - residual(x, proj(attention(the thirds of qkv(layer_norm(x)))), gain) as AttentionBranch,
// - convolutions whose windows do not overlap as PatchEmbed.
// A branch is fused only when nothing else reads what is inside it, outputs included. It takes the
// residual's name, under which stochastic depth draws its numbers.
Graph fuse(const Graph& graph);

// Lowering for inference: what weights alone decide moves into the weights.
// The same function with fewer operations on activations. Batch norms, factors, shifts and the
// gains of residuals go into the weights of the linear map or convolution before them, an affine
// map into the linear map behind it, attention's scale into its queries; a batch norm with neither
// becomes an affine map; a map that only its own values meet is attention again. The new weights
// are subgraphs that read parameters only (compute_constants() makes parameters of them), and what
// is read in another way, by an output say, stays. Comes before fuse(). Throws Error for a graph
// that was recorded for training.
Graph lower(const Graph& graph);

// Weights that depend on weights alone, computed once: what lower() leaves as subgraphs.
struct ComputedConstants {
    Graph graph;        // every such subgraph is a parameter, named after its last node
    WeightMap weights;  // of all parameters that the graph still reads, and of no others
};

// `weights` has every parameter of the graph by name.
ComputedConstants compute_constants(const Graph& graph, const WeightMap& weights);

// When a result is read for the last time: what an executor may free, and what memory a graph
// needs.
struct Liveness {
    // By node: the last node that reads it, itself where none does. An output is kept to the end:
    // nodes.size().
    std::vector<std::size_t> last_use;
    // By node: the results that nobody needs once it has run. Outputs are in no list.
    std::vector<std::vector<std::size_t>> freed_after;
};

enum class ViewUse {
    own,       // a view holds its memory by itself, as a reference-counted tensor does
    of_source  // reading a view is reading the memory that it looks at
};

Liveness liveness(const Graph& graph, ViewUse views = ViewUse::own);

}  // namespace cait
