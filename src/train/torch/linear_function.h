// Matrix products on the CPU, differentiable.
#pragma once

#include "train/torch/cpu_function.h"

namespace cait {

// x [..., inputs], weight [outputs, inputs], bias [outputs] or undefined → [..., outputs]
at::Tensor cpu_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      const CpuOptions& options);

// a [..., m, k] · b [..., k, n], or b [..., n, k] when transposed; leading axes broadcast.
at::Tensor cpu_matmul(const at::Tensor& a, const at::Tensor& b, bool transpose_b,
                      const CpuOptions& options);

}  // namespace cait
