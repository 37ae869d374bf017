// x + factor * gain * proj(attention(qkv(LayerNorm(x)))): the attention half of a transformer
// block.
#pragma once

#include "kernels/attention.h"
#include "kernels/branch.h"

namespace cait::kernels {

struct AttentionBranch : BranchOptions {
    AttentionShape attention;            // queries and keys are the tokens
    const float* weight_qkv = nullptr;   // [3 * dim, dim]
    const float* bias_qkv = nullptr;     // [3 * dim] or null
    const float* weight_proj = nullptr;  // [dim, dim]
    const float* bias_proj = nullptr;    // [dim] or null
};

// What the backward pass needs beside x: q, k and v, batch * tokens * 3 * dim elements, and the
// attention's output, batch * tokens * dim; floats, or bfloat16 when the branch computes in it.
struct AttentionKept {
    void* qkv = nullptr;
    void* mixed = nullptr;
};
void attention_branch_forward(const AttentionBranch& branch, const float* x, float* y,
                              const AttentionKept& kept);

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
void attention_branch_backward(const AttentionBranch& branch, const float* x,
                               const AttentionKept& kept, const float* dy,
                               const AttentionGradients& gradients);

}  // namespace cait::kernels
