// Attention backward, one image, all heads at once; the maps are computed again.
#pragma once

#include "kernels/attention.h"

namespace cait::kernels {

Index attention_backward_workspace(const AttentionShape& shape);

// Writes dq, dk, dv (float32); adds to the gradients of the mixes (null without them).
struct MixGradients {
    float* before_weight = nullptr;
    float* before_bias = nullptr;
    float* after_weight = nullptr;
    float* after_bias = nullptr;
};
struct AttentionGradientRows {
    MutableRows q, k, v;
};
void attention_backward(const AttentionShape& shape, const Rows& q, const Rows& k, const Rows& v,
                        const Rows& d_output, const AttentionGradientRows& gradients,
                        const MixGradients& mixes, std::byte* workspace);

}  // namespace cait::kernels
