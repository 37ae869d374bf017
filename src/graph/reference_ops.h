// The loops of the plain interpreter, one function per primitive. Tensors are float32; shapes were
// checked when the graph was recorded, so `shape`, with its batch known, is that of the result.
#pragma once

#include <span>

#include "cait/tensor.h"
#include "graph/ops.h"

namespace cait::reference {

using Inputs = std::span<const Tensor>;

// Elementwise and along an axis: reference_pointwise.cpp
Tensor compute(const op::Add& op, Inputs in, const Shape& shape);
Tensor compute(const op::Mul& op, Inputs in, const Shape& shape);
Tensor compute(const op::Scale& op, Inputs in, const Shape& shape);
Tensor compute(const op::Activation& op, Inputs in, const Shape& shape);
Tensor compute(const op::Softmax& op, Inputs in, const Shape& shape);
Tensor compute(const op::Reduce& op, Inputs in, const Shape& shape);
Tensor compute(const op::BatchNorm& op, Inputs in, const Shape& shape);

// Products: reference_products.cpp
Tensor compute(const op::Linear& op, Inputs in, const Shape& shape);
Tensor compute(const op::MatMul& op, Inputs in, const Shape& shape);

// Other arrangements of the same values: reference_layout.cpp
Tensor compute(const op::Reshape& op, Inputs in, const Shape& shape);
Tensor compute(const op::Permute& op, Inputs in, const Shape& shape);
Tensor compute(const op::Concat& op, Inputs in, const Shape& shape);
Tensor compute(const op::Slice& op, Inputs in, const Shape& shape);
Tensor compute(const op::Expand& op, Inputs in, const Shape& shape);

// Windows over images: reference_windows.cpp
Tensor compute(const op::Conv2d& op, Inputs in, const Shape& shape);
Tensor compute(const op::Pool2d& op, Inputs in, const Shape& shape);
Tensor compute(const op::Unfold& op, Inputs in, const Shape& shape);
Tensor compute(const op::Fold& op, Inputs in, const Shape& shape);

// A shape as seen from one of its axes: index = (outer * extent + i) * inner + rest.
struct AxisView {
    std::int64_t outer = 1, extent = 1, inner = 1;
};
AxisView axis_view(const Shape& shape, std::int64_t axis);

// Elements between neighbours along each axis of a dense array.
std::vector<std::int64_t> strides_of(const Shape& shape);

}  // namespace cait::reference
