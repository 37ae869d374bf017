// Attention of a few queries, straight from the rows of keys and values: the step of a decoder has
// as many queries as hypotheses, and packing would take longer than the products. In float32.
#pragma once

#include "kernels/attention.h"

namespace cait::kernels {

// More queries than these are better off with packed keys and values.
constexpr Index kMostRowQueries = 8;

// Of one head; `scores` has room for [queries, keys]. No mixes.
void row_attention(const AttentionShape& shape, Index head, const Rows& q, const Rows& k,
                   const Rows& v, const MutableRows& output, float* scores);

}  // namespace cait::kernels
