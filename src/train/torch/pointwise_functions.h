// LayerNorm, GELU and the scaled residual on the CPU, differentiable.
#pragma once

#include "train/torch/cpu_function.h"

namespace cait {

// Over the last axis.
at::Tensor cpu_layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          double epsilon, const CpuOptions& options);

at::Tensor cpu_gelu(const at::Tensor& x, const CpuOptions& options);

// x + factors * scale * branch: scale [D], [1] or undefined; factors [B] or undefined.
at::Tensor cpu_residual(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& scale,
                        const at::Tensor& factors, const CpuOptions& options);

}  // namespace cait
