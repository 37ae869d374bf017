// Backward through the MLP half of a transformer block.
#pragma once

#include "kernels/mlp_branch.h"
#include "kernels/train/branch_backward.h"

namespace cait::kernels {

struct MlpBackward : MlpBranch {
    // weight1 and weight2 of MlpBranch hold backward_source of [hidden, dim], and of [dim, hidden]
    // with the gain.
    const float* weight2_values = nullptr;  // [dim, hidden]; for the gradient of the gain
};

// Every gradient is written, not added to. Biases without a value have none.
struct MlpGradients {
    float* x = nullptr;
    float* norm_weight = nullptr;
    float* norm_bias = nullptr;
    float* weight1 = nullptr;
    float* bias1 = nullptr;
    OutputGradients output;  // weight2, bias2, gain
};
void mlp_branch_backward(const MlpBackward& branch, const float* x, const void* kept,
                         const float* dy, const MlpGradients& gradients, Workspace& workspace);

}  // namespace cait::kernels
