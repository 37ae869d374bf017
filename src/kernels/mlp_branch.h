// x + factor * gain * fc2(gelu(fc1(LayerNorm(x)))): the MLP half of a transformer block.
#pragma once

#include "kernels/branch.h"

namespace cait::kernels {

// The hidden layer is computed in slices of its width: fc1, GELU and fc2 of one slice before the
// next, so that a slice of a chunk's hidden values is all that has to stay in the cache.
constexpr Index kHiddenSlice = 192;
// Of int8, whose slices have scales of their own: their sums meet in floats, which wider slices
// need less often.
constexpr Index kQuantizedSlice = 384;
constexpr Index hidden_slice(Format format) {
    return format == Format::s8 ? kQuantizedSlice : kHiddenSlice;
}

struct MlpBranch : BranchOptions {
    Index hidden = 0;
    PackedView weight1;            // forward_source of [hidden, dim]
    const float* bias1 = nullptr;  // [hidden] or null
    PackedView weight2;            // forward_source of [dim, hidden]
    const float* bias2 = nullptr;  // [dim] or null
};

// `kept`, if not null, gets what a backward pass needs beside x: the hidden values before GELU,
// batch * tokens * hidden elements of the branch's format in an order of our own.
void mlp_branch_forward(const MlpBranch& branch, const float* x, float* y, void* kept,
                        Workspace& workspace);

// Rows of a chunk and a slice among what is kept: the slices of a chunk one after the other.
MutableRows kept_hidden(const MlpBranch& branch, void* kept, Index first_row, Index rows,
                        Index begin, Index width);

}  // namespace cait::kernels
