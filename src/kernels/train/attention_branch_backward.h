// Backward through the attention half of a transformer block.
#pragma once

#include "kernels/attention_branch.h"
#include "kernels/train/attention_backward.h"
#include "kernels/train/branch_backward.h"

namespace cait::kernels {

struct AttentionBackward : AttentionBranch {
    // weight_qkv and weight_proj of AttentionBranch hold backward_source of [3 * dim, dim], and of
    // [dim, dim] with the gain.
    const float* weight_proj_values = nullptr;  // [dim, dim]; for the gradient of the gain
};

// Every gradient is written, not added to. What has no value has no gradient.
struct AttentionGradients {
    float* x = nullptr;
    float* norm_weight = nullptr;
    float* norm_bias = nullptr;
    float* weight_qkv = nullptr;
    float* bias_qkv = nullptr;
    MixGradients mixes;
    OutputGradients output;  // weight_proj, bias_proj, gain
};
void attention_branch_backward(const AttentionBackward& branch, const float* x,
                               const AttentionKept& kept, const float* dy,
                               const AttentionGradients& gradients, Workspace& workspace);

}  // namespace cait::kernels
