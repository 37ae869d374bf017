// What the two residual branches of a transformer block have in common: y = x + factor * gain *
// f(LayerNorm(x)), computed a few images at a time so that everything between stays in a core's
// second-level cache. Images whose branch is dropped are left out altogether.
#pragma once

#include <functional>
#include <vector>

#include "kernels/buffer.h"
#include "kernels/parallel.h"
#include "kernels/profile.h"

namespace cait::kernels {

struct BranchOptions {
    Index batch = 0;
    Index tokens = 0;
    Index dim = 0;
    const float* norm_weight = nullptr;  // [dim]
    const float* norm_bias = nullptr;    // [dim]
    float epsilon = 1e-6F;
    const float* gain = nullptr;     // [dim], null for 1: LayerScale
    const float* factors = nullptr;  // [batch], null for 1: stochastic depth
    bool bfloat16 = false;           // operands of the products rounded to bfloat16
    int threads = 1;
    Profile* profile = nullptr;
};

// Which images are computed together. Chunks are handed out as threads become free. Sums over
// images are made per group of chunks, and groups do not depend on who computes them: the result is
// the same bits however busy the machine is.
class Chunks {
public:
    // `sum_size`: floats that one group adds up, for a backward pass.
    explicit Chunks(const BranchOptions& options, Index sum_size = 0);

    Index most_images() const { return images_; }
    Index active() const { return Index(active_.size()); }
    // Positions in the list of active images.
    Share images_of(Index chunk) const;
    Index image(Index position) const { return active_[std::size_t(position)]; }

    int workers() const { return workers_; }
    Index groups() const { return groups_; }
    // Calls work(chunk, worker) for all chunks; no two calls of one worker run at the same time.
    void for_chunks(const std::function<void(Index, int)>& work) const;
    // The same by groups: start(group, worker), then work for each of the group's chunks.
    void for_groups(const std::function<void(Index, int)>& start,
                    const std::function<void(Index, Index, int)>& work) const;

private:
    std::vector<Index> active_;
    Index images_ = 1;  // of a chunk
    Index count_ = 0;
    Index groups_ = 1;
    int workers_ = 1;
};

// Rows of the active images of a chunk one after the other: normed [rows, dim].
void norm_chunk(const BranchOptions& options, const Chunks& chunks, Share images, const float* x,
                float* normed);
// The gradient that enters the branch before its gain, factor * dy: copied, or dy itself.
const float* branch_gradient(const BranchOptions& options, const Chunks& chunks, Share images,
                             const float* dy, float* buffer);
// y = x + factor * gain * branch for the images of a chunk.
void add_branch(const BranchOptions& options, const Chunks& chunks, Share images, const float* x,
                const float* branch, float* y);
// dx = dy + the gradient through LayerNorm.
void norm_chunk_backward(const BranchOptions& options, const Chunks& chunks, Share images,
                         const float* x, const float* d_normed, const float* dy, float* dx,
                         float* d_weight, float* d_bias);
// Images without a branch: to = from.
void copy_dropped(const BranchOptions& options, const float* from, float* to);

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

// The sums of all groups, in the order of their numbers, into those of group 0; each has `count`
// floats, and they lie `stride` apart.
void sum_groups(float* parts, Index stride, Index groups, Index count, int threads);

}  // namespace cait::kernels
