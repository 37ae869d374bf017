// What the two residual branches of a transformer block have in common: y = x + factor * gain *
// f(LayerNorm(x)). y may be x.
#pragma once

#include "kernels/chunks.h"
#include "kernels/product.h"
#include "kernels/profile.h"
#include "kernels/workspace.h"

namespace cait::kernels {

struct BranchOptions {
    Index batch = 0;
    Index tokens = 0;
    Index dim = 0;
    const float* norm_weight = nullptr;  // [dim], null: no norm, of a forward pass
    const float* norm_bias = nullptr;    // [dim]
    float epsilon = 1e-6F;
    const float* gain = nullptr;     // [dim], null for 1: LayerScale
    const float* factors = nullptr;  // [batch], null for 1: stochastic depth
    // Of the products' operands; what is kept and attention have its companion.
    Format format = Format::f32;
    int threads = 1;
    Profile* profile = nullptr;
};

// Rows of a chunk's pieces one after the other, normed and in the products' format.
void norm_chunk(const BranchOptions& options, const Chunks& chunks, Share pieces, const float* x,
                const MutableRows& normed);

// The residual stream of a chunk's pieces, for the epilogue of the branch's last product;
// `segments` has room for chunks.most_pieces().
void fill_segments(const BranchOptions& options, const Chunks& chunks, Share pieces, const float* x,
                   float* y, Segment* segments);

// Images without a branch: to = from.
void copy_dropped(const BranchOptions& options, const float* from, float* to);

}  // namespace cait::kernels
