// Lowering for inference: what weights alone decide moves into the weights.
#pragma once

#include "graph/graph.h"

namespace cait {

// The same function with fewer operations on activations. Batch norms, factors, shifts and the
// gains of residuals go into the weights of the linear map or convolution before them, an affine
// map into the linear map behind it, attention's scale into its queries; a batch norm with neither
// becomes an affine map; a map that only its own values meet is attention again. The new weights
// are subgraphs that read parameters only (compute_constants() makes parameters of them), and what
// is read in another way, by an output say, stays. Comes before fuse(). Throws Error for a graph
// that was recorded for training.
Graph lower(const Graph& graph);

}  // namespace cait
