// The two residual branches of a transformer block on the CPU, each as one differentiable function:
// x + factors * gain * f(LayerNorm(x)).
#pragma once

#include "train/torch/attention_function.h"

namespace cait {

// What stands around both branches.
struct BranchTensors {
    at::Tensor x;                       // [B, T, D]
    at::Tensor norm_weight, norm_bias;  // [D]
    at::Tensor gain;                    // [D], [1] or undefined
    at::Tensor factors;                 // [B] or undefined: stochastic depth
    double epsilon = 1e-6;
};

struct MlpTensors {
    at::Tensor weight1, bias1, weight2, bias2;
};
at::Tensor cpu_mlp_branch(const BranchTensors& around, const MlpTensors& mlp,
                          const CpuOptions& options);

struct AttentionTensors {
    at::Tensor weight_qkv, bias_qkv, weight_proj, bias_proj;
    HeadMixes mixes;
};
at::Tensor cpu_attention_branch(const BranchTensors& around, const AttentionTensors& attention,
                                const op::AttentionOptions& op, const CpuOptions& options);

}  // namespace cait
