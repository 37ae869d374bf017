// The gradient of a linear map's weight and bias; that of its input is linear_forward of the
// weight's transpose.
#pragma once

#include "kernels/linear.h"

namespace cait::kernels {

// d_weight [outputs, inputs] and d_bias [outputs], each unless it is null.
void linear_weight_gradient(const LinearShape& shape, const float* x, const float* dy,
                            float* d_weight, float* d_bias, Workspace& workspace);

}  // namespace cait::kernels
