// What the backward passes of the two residual branches have in common.
#pragma once

#include <algorithm>

#include "kernels/branch.h"

namespace cait::kernels {

// The gradient that enters the branch before its gain, factor * dy of a chunk's rows, in the
// products' format: in `memory`, or dy itself.
Rows branch_gradient(const BranchOptions& options, const Chunks& chunks, Share pieces,
                     const float* dy, const MutableRows& memory);

// dx = dy + the gradient through LayerNorm.
void norm_chunk_backward(const BranchOptions& options, const Chunks& chunks, Share pieces,
                         const float* x, const float* d_normed, const float* dy, float* dx,
                         float* d_weight, float* d_bias);

// sums [columns, n] += from [rows, columns]^T · packed [rows, n]; `transposed` is memory of
// transposed_bytes().
void add_weight_product(const BranchOptions& options, const Rows& from, Index rows, Index columns,
                        const PackedView& packed, void* transposed, void* scratch, float* sums);

// The gradients of the last map of a branch, out = in · weight^T + bias with weight [dim, inner],
// and of the gain behind it, all from two sums: products [inner, dim], that of in^T · (factor *
// dy), and columns [dim], that of factor * dy. The branch's output is not needed.
struct OutputGradients {
    float* weight = nullptr;  // [dim, inner]
    float* bias = nullptr;    // [dim]
    float* gain = nullptr;    // [dim]; null without
};
void finish_output(const BranchOptions& options, Index inner, const float* weight,
                   const float* bias, const float* products, const float* columns,
                   const OutputGradients& gradients);

// The sums of all groups of `count` floats each, in the order of their numbers, into those of group
// 0.
void sum_groups(float* parts, Index groups, Index count, int threads);

// A backward pass over all chunks: work(chunks, pieces, memory, sums) adds to `sum_floats` floats,
// with the memory that make(chunks, arena) takes for each worker. Returns the sums of all, which
// lie in the workspace.
template <class Make, class Work>
const float* sum_over_chunks(const BranchOptions& b, Index sum_floats, bool whole_images,
                             Workspace& workspace, const Make& make, const Work& work) {
    const Chunks chunks({b.batch, b.tokens, b.dim, b.factors, b.threads, sum_floats, whole_images},
                        workspace.list);
    const PerWorker memory(
        workspace.memory, chunks.workers(), [&](Arena& arena) { return make(chunks, arena); },
        sum_floats * chunks.groups() * 4);
    auto* sums = reinterpret_cast<float*>(memory.shared());
    chunks.for_groups(
        [&](Index group, int) { std::fill_n(sums + group * sum_floats, sum_floats, 0.0F); },
        [&](Index group, Index chunk, int worker) {
            work(chunks, chunks.pieces_of(chunk), memory(worker), sums + group * sum_floats);
        });
    // All sums at once: waking the threads for each of them would take longer than adding.
    timed(b.profile, Part::other,
          [&] { sum_groups(sums, chunks.groups(), sum_floats, b.threads); });
    return sums;
}

}  // namespace cait::kernels
