// Finds where numbers went wrong, once a loss is not finite.
#pragma once

#include <string>

#include "train/torch/executor.h"

namespace cait {

// Runs the graph again, op by op, and names the first tensor that is not finite: "the images", "the
// input NAME" where there are several, "weight NAME", or the op and the line of the model that it
// comes from. Empty: all are finite.
std::string first_bad_tensor(const TorchExecutor& executor, const NamedInputs<at::Tensor>& inputs,
                             const TorchTensors& weights, EvaluateContext context);

bool is_finite(const at::Tensor& tensor);

}  // namespace cait
