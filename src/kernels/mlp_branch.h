// x + factor * gain * fc2(gelu(fc1(LayerNorm(x)))): the MLP half of a transformer block.
#pragma once

#include "kernels/branch.h"

namespace cait::kernels {

struct MlpBranch : BranchOptions {
    Index hidden = 0;
    const float* weight1 = nullptr;  // [hidden, dim]
    const float* bias1 = nullptr;    // [hidden] or null
    const float* weight2 = nullptr;  // [dim, hidden]
    const float* bias2 = nullptr;    // [dim] or null
};

// What the backward pass needs beside x: the hidden values before GELU, batch * tokens * hidden
// elements in an order of our own; floats, or bfloat16 when the branch computes in bfloat16.
void mlp_branch_forward(const MlpBranch& branch, const float* x, float* y, void* kept);

// Every gradient is written, not added to. Biases without a value have none.
struct MlpGradients {
    float* x = nullptr;
    float* norm_weight = nullptr;
    float* norm_bias = nullptr;
    float* weight1 = nullptr;
    float* bias1 = nullptr;
    OutputGradients output;  // weight2, bias2, gain
};
void mlp_branch_backward(const MlpBranch& branch, const float* x, const void* kept, const float* dy,
                         const MlpGradients& gradients);

}  // namespace cait::kernels
