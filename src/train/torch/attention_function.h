// Attention on the CPU, differentiable; the maps are not kept but computed again.
#pragma once

#include <span>

#include "graph/ops.h"
#include "train/torch/cpu_function.h"

namespace cait {

// Which keys count, [B, K] as op::MaskedAttention has it (undefined: all), and whether a query sees
// only those up to its own place. A mask has no gradient.
struct SeenTokens {
    at::Tensor mask;
    bool causal = false;
};

// q [B, Q, D], k and v [B, K, D]; mixes as op::Attention lists them → [B, Q, D]
at::Tensor cpu_attention(const op::AttentionOptions& op, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v, std::span<const at::Tensor> mixes,
                         const CpuOptions& options, const SeenTokens& seen = {});

// The weights and biases of the mixes; undefined without mixing.
struct HeadMixes {
    at::Tensor before_weight, before_bias, after_weight, after_bias;
};
HeadMixes head_mixes(const op::AttentionOptions& op, std::span<const at::Tensor> mixes);

}  // namespace cait
