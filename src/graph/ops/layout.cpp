// Other arrangements of the same values.
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/ops/support.h"

namespace cait::op {

Shape Reshape::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    if (shape.has_batch() != in[0].has_batch() || shape.count() != in[0].count())
        reject(kName, "expected as many elements as {}, got {}", in[0].to_string(),
               shape.to_string());
    return shape;
}
Tensor Reshape::compute(Tensors in, const Shape& to) const { return in[0].reshaped(to); }

Shape Permute::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i)
        if (sorted[i] != std::int64_t(i)) reject(kName, "expected a permutation of the axes");
    expect_rank(kName, "an input", in[0], order.size());
    if (in[0].has_batch() && order[0] != 0) reject(kName, "expected the batch to stay in front");
    Shape result = in[0];
    for (std::size_t i = 0; i < order.size(); ++i) result[std::int64_t(i)] = in[0][order[i]];
    return result;
}
std::string Permute::attributes() const { return fmt::format("order={}", fmt::join(order, ",")); }
Tensor Permute::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> x = in[0].floats();
    const std::span<float> y = result.mutable_floats();
    const std::vector<std::int64_t> strides = strides_of(in[0].shape());
    for (std::size_t at = 0; at < y.size(); ++at) {
        std::int64_t rest = std::int64_t(at), from = 0;
        for (std::int64_t axis = std::int64_t(shape.rank()) - 1; axis >= 0; --axis) {
            from += rest % shape[axis] * strides[std::size_t(order[std::size_t(axis)])];
            rest /= shape[axis];
        }
        y[at] = x[std::size_t(from)];
    }
    return result;
}

Shape Concat::infer(Shapes in) const {
    if (in.empty()) reject(kName, "expected at least one input");
    const std::int64_t at = axis_of(kName, axis, in[0]);
    Shape result = in[0];
    for (const Shape& next : in.subspan(1)) {
        Shape same = next;
        if (next.rank() == result.rank()) same[at] = result[at];
        expect_shape(kName, "an input like", same, result);
        result[at] += next[at];
    }
    return result;
}
std::string Concat::attributes() const { return fmt::format("axis={}", axis); }
Tensor Concat::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const AxisView whole(shape, axis);
    std::int64_t begin = 0;
    for (const Tensor& tensor : in) {
        const AxisView part(tensor.shape(), axis);
        const std::int64_t row = part.extent * part.inner;
        for (std::int64_t o = 0; o < part.outer; ++o)
            std::ranges::copy(
                tensor.floats().subspan(std::size_t(o * row), std::size_t(row)),
                result.mutable_floats().begin() + (o * whole.extent + begin) * whole.inner);
        begin += part.extent;
    }
    return result;
}

Shape Slice::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    const std::int64_t at = axis_of(kName, axis, in[0]);
    if (begin < 0 || end <= begin || end > in[0][at])
        reject(kName, "expected a range inside axis {} of {}, got {}…{}", at, in[0].to_string(),
               begin, end);
    Shape result = in[0];
    result[at] = end - begin;
    return result;
}
std::string Slice::attributes() const { return fmt::format("axis={} {}…{}", axis, begin, end); }
Tensor Slice::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const AxisView from(in[0].shape(), axis);
    const std::int64_t row = (end - begin) * from.inner;
    for (std::int64_t o = 0; o < from.outer; ++o) {
        const std::int64_t first = (o * from.extent + begin) * from.inner;
        std::ranges::copy(in[0].floats().subspan(std::size_t(first), std::size_t(row)),
                          result.mutable_floats().begin() + o * row);
    }
    return result;
}

Shape Expand::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    if (in[0].rank() < 1 || in[0][0] != 1)
        reject(kName, "expected a first extent of 1, got {}", in[0].to_string());
    Shape result = in[0];
    result[0] = Shape::kBatch;
    return result;
}

Tensor Expand::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> one = in[0].floats();
    for (std::int64_t image = 0; image < shape[0]; ++image)
        std::ranges::copy(one, result.mutable_floats().begin() + image * std::int64_t(one.size()));
    return result;
}

}  // namespace cait::op
