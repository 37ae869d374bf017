// Which patches a class token looks at, out of the values of a tap class_attention.N.
#pragma once

#include "cait/classifier.h"
#include "graph/graph.h"

namespace cait {

// Of one image, [heads, queries, keys]: a query's weights of the patches, of one head or, where
// `head` is negative, the mean of all. Tokens that are no patches come before them. The first query
// is the class token; where each class has one of its own, it is the class. Throws Error when there
// are fewer keys than patches or no such query.
AttentionMap patch_attention(std::span<const float> values, const Shape& tap_shape, Grid grid,
                             std::int64_t head = -1, std::int64_t query = 0);

// Whether the model has a token, and so a map, for each class (PatchConvNet with `multi`).
bool has_map_per_class(const Model& model);

}  // namespace cait
