// Attention of one image, all heads at once, forward and backward: plain, with talking heads, or
// with few queries (class attention). Maps never leave the second-level cache: queries are taken a
// block at a time, and the backward pass computes the maps again.
#pragma once

#include "kernels/table.h"

namespace cait::kernels {

// Rows of q, k, v and of the output are heads * head_dim floats; head h starts at h * head_dim.
struct AttentionShape {
    Index queries = 0;
    Index keys = 0;
    Index heads = 0;
    Index head_dim = 0;
    float scale = 1;
    // Talking heads: [heads, heads] and [heads], before and after the softmax; null without.
    const float* before_weight = nullptr;
    const float* before_bias = nullptr;
    const float* after_weight = nullptr;
    const float* after_bias = nullptr;
    bool bfloat16 = false;  // products of bfloat16 values; q and d_output come rounded already
};

struct Rows {
    const float* data = nullptr;
    Index ld = 0;
};
struct MutableRows {
    float* data = nullptr;
    Index ld = 0;
};

// Floats of scratch memory that either direction needs.
Index attention_workspace(const AttentionShape& shape);

void attention_forward(const AttentionShape& shape, Rows q, Rows k, Rows v, MutableRows output,
                       float* workspace);

// Writes dq, dk, dv; adds to the gradients of the mixes (null without them).
struct MixGradients {
    float* before_weight = nullptr;
    float* before_bias = nullptr;
    float* after_weight = nullptr;
    float* after_bias = nullptr;
};
void attention_backward(const AttentionShape& shape, Rows q, Rows k, Rows v, Rows d_output,
                        MutableRows dq, MutableRows dk, MutableRows dv, const MixGradients& mixes,
                        float* workspace);

}  // namespace cait::kernels
