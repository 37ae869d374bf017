// The ops that our own CPU kernels run, in place of ATen.
#pragma once

#include <optional>

#include "torch/evaluate.h"
#include "torch/fuse.h"

namespace cait {

// Whether the kernels take these tensors: on the CPU, float32 or bfloat16, and not switched off by
// the context or by CAIT_BACKEND=aten.
bool kernels_apply(const at::Tensor& tensor, const EvaluateContext& context);

// Nothing for an op without a kernel.
std::optional<at::Tensor> evaluate_with_kernels(const Node& node,
                                                std::span<const at::Tensor> inputs,
                                                const EvaluateContext& context);

// A whole branch; `results` holds the tensors by node id.
at::Tensor evaluate_branch(const FusedBranch& branch, const Node& residual,
                           std::span<const at::Tensor> results, const EvaluateContext& context);

}  // namespace cait
