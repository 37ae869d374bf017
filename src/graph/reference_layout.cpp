// The plain interpreter's other arrangements of the same values. Each is a copy.
#include <algorithm>

#include "graph/reference_ops.h"

namespace cait::reference {

AxisView axis_view(const Shape& shape, std::int64_t axis) {
    const std::int64_t at = axis < 0 ? axis + std::int64_t(shape.rank()) : axis;
    AxisView view;
    for (std::int64_t i = 0; i < std::int64_t(shape.rank()); ++i)
        (i < at ? view.outer : i > at ? view.inner : view.extent) *= shape[i];
    return view;
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.rank(), 1);
    for (std::size_t i = shape.rank(); i-- > 1;)
        strides[i - 1] = strides[i] * shape[std::int64_t(i)];
    return strides;
}

Tensor compute(const op::Reshape&, Inputs in, const Shape& shape) { return in[0].reshaped(shape); }

Tensor compute(const op::Permute& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> x = in[0].floats();
    const std::span<float> y = result.mutable_floats();
    const std::vector<std::int64_t> strides = strides_of(in[0].shape());
    for (std::size_t at = 0; at < y.size(); ++at) {
        std::int64_t rest = std::int64_t(at), from = 0;
        for (std::int64_t axis = std::int64_t(shape.rank()) - 1; axis >= 0; --axis) {
            from += rest % shape[axis] * strides[std::size_t(op.order[std::size_t(axis)])];
            rest /= shape[axis];
        }
        y[at] = x[std::size_t(from)];
    }
    return result;
}

Tensor compute(const op::Concat& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const AxisView whole = axis_view(shape, op.axis);
    std::int64_t begin = 0;
    for (const Tensor& tensor : in) {
        const AxisView part = axis_view(tensor.shape(), op.axis);
        const std::int64_t row = part.extent * part.inner;
        for (std::int64_t o = 0; o < part.outer; ++o)
            std::ranges::copy(
                tensor.floats().subspan(std::size_t(o * row), std::size_t(row)),
                result.mutable_floats().begin() + (o * whole.extent + begin) * whole.inner);
        begin += part.extent;
    }
    return result;
}

Tensor compute(const op::Slice& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const AxisView from = axis_view(in[0].shape(), op.axis);
    const std::int64_t row = (op.end - op.begin) * from.inner;
    for (std::int64_t o = 0; o < from.outer; ++o) {
        const std::int64_t begin = (o * from.extent + op.begin) * from.inner;
        std::ranges::copy(in[0].floats().subspan(std::size_t(begin), std::size_t(row)),
                          result.mutable_floats().begin() + o * row);
    }
    return result;
}

Tensor compute(const op::Expand&, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> one = in[0].floats();
    for (std::int64_t image = 0; image < shape[0]; ++image)
        std::ranges::copy(one, result.mutable_floats().begin() + image * std::int64_t(one.size()));
    return result;
}

}  // namespace cait::reference
