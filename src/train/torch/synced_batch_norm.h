// Batch norm over the images of all processes: mean and variance are those of the whole batch, so
// that many processes learn what one would.
#pragma once

#include "train/torch/libtorch.h"

#include <functional>

namespace cait {

// Adds up a tensor over the processes, in place; all of them call it.
using SumOverProcesses = std::function<void(at::Tensor&)>;

struct BatchNormTensors {
    at::Tensor weight, bias;               // [C]
    at::Tensor running_mean, running_var;  // [C], moved in place
};

// x [B, C, ...] in training; the same B in every process. Differentiable. Without `sum`: of one
// process.
at::Tensor synced_batch_norm(const at::Tensor& x, const BatchNormTensors& params, double momentum,
                             double epsilon, const SumOverProcesses& sum);

}  // namespace cait
