// Which patches a class token looks at, out of the values of a tap class_attention.N.
#pragma once

#include "cait/classifier.h"
#include "graph/graph.h"

namespace cait {

// Of one image, [heads, queries, keys]: the first query's weights of the patches, of one head or,
// where `head` is negative, the mean of all. Tokens that are no patches come before them. Throws
// Error when there are fewer keys than patches.
AttentionMap patch_attention(std::span<const float> values, const Shape& tap_shape, Grid grid,
                             std::int64_t head = -1);

}  // namespace cait
