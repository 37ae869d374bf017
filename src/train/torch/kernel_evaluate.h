// The ops that our own CPU kernels run, in place of ATen.
#pragma once

#include <optional>

#include "train/torch/cpu_function.h"
#include "train/torch/evaluate.h"

namespace cait {

// How this run computes on the CPU.
CpuOptions cpu_options(const EvaluateContext& context);

// Whether the kernels take these tensors: on the CPU, float32 or bfloat16, and not switched off by
// the context or by CAIT_BACKEND=aten.
bool kernels_apply(const at::Tensor& tensor, const EvaluateContext& context);

// Nothing for an op without a kernel.
std::optional<at::Tensor> evaluate_with_kernels(const Node& node,
                                                std::span<const at::Tensor> inputs,
                                                const EvaluateContext& context);

}  // namespace cait
