// Loops over views that lie in any order: copies, sums and products with broadcasting, reductions.
// The hot paths of models do not come here; they have kernels of their own.
#pragma once

#include "engine/frame.h"

namespace cait::engine {

// Both have the same extents.
void copy_strided(const Frame& frame, const View& from, const View& to);

enum class Binary { add, multiply };
// a and b are broadcast to the extents of `to` already.
void combine_strided(const Frame& frame, Binary op, const View& a, const View& b, const View& to);

void scale_strided(const Frame& frame, const View& from, float factor, float offset,
                   const View& to);

enum class Fold { sum, max };
// `to` has the extents of `from`, with step 0 along the axes that are reduced; `kept` is the same
// with extent 1 there. Times `factor` in the end.
void reduce_strided(const Frame& frame, Fold op, const View& from, const View& to, const View& kept,
                    float factor);

}  // namespace cait::engine
