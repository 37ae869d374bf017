// Shape inference; infer.cpp is the only place with shape rules.
#pragma once

#include <span>

#include "graph/ops.h"

namespace cait {

// The output's shape. Throws Error, "[op] expected …, got …", when the inputs do not fit.
// Input and Param have no inputs to infer from: whoever records them gives the shape.
Shape infer_shape(const Op& op, std::span<const Shape> inputs);

}  // namespace cait
