// Elementwise: sums and products of arrays that broadcast, and functions of one value.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/ops/support.h"

namespace cait::op {

namespace {

Shape broadcast(std::string_view op, Shapes in) {
    expect_count(op, in, 2, 2);
    const Shape &a = in[0], &b = in[1];
    const std::size_t rank = std::max(a.rank(), b.rank());
    Shape result(std::vector<std::int64_t>(rank, 1));
    for (std::int64_t back = 1; back <= std::int64_t(rank); ++back) {
        const std::int64_t from_a = back <= std::int64_t(a.rank()) ? a[-back] : 1;
        const std::int64_t from_b = back <= std::int64_t(b.rank()) ? b[-back] : 1;
        if (from_a != from_b && from_a != 1 && from_b != 1)
            reject(op, "expected shapes that broadcast, got {} and {}", a.to_string(),
                   b.to_string());
        result[-back] = from_a == 1 ? from_b : from_a;
    }
    return result;
}

// How far an operand moves along each axis of the result: 0 where it is repeated.
std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
    const std::vector<std::int64_t> dense = strides_of(from);
    std::vector<std::int64_t> strides(to.rank(), 0);
    for (std::size_t back = 1; back <= from.rank(); ++back)
        if (from[-std::int64_t(back)] != 1) strides[to.rank() - back] = dense[from.rank() - back];
    return strides;
}

// The axes that two operands walk along together. Neighbouring axes that both walk as if they were
// one are one: a weight [O, C, k, k] times [O, 1, 1, 1] has two.
struct Walk {
    std::vector<std::int64_t> extents, by_a, by_b;
};
Walk walk_of(const Shape& a, const Shape& b, const Shape& shape) {
    const std::vector<std::int64_t> by_a = broadcast_strides(a, shape);
    const std::vector<std::int64_t> by_b = broadcast_strides(b, shape);
    Walk walk{{1}, {0}, {0}};
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t extent = shape[std::int64_t(axis)];
        const bool continues =
            walk.by_a.back() == by_a[axis] * extent && walk.by_b.back() == by_b[axis] * extent;
        if (continues || walk.extents.back() == 1) {
            walk.extents.back() *= extent;
            walk.by_a.back() = by_a[axis];
            walk.by_b.back() = by_b[axis];
        } else {
            walk.extents.push_back(extent);
            walk.by_a.push_back(by_a[axis]);
            walk.by_b.push_back(by_b[axis]);
        }
    }
    return walk;
}

// Every pair of elements of two arrays that broadcast against each other.
template <class Combine>
Tensor combined(const Tensor& a, const Tensor& b, const Shape& shape, const Combine& combine) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const Walk walk = walk_of(a.shape(), b.shape(), shape);
    const std::int64_t row = walk.extents.back();
    const std::int64_t step_a = walk.by_a.back(), step_b = walk.by_b.back();
    float* out = result.mutable_floats().data();
    for (std::int64_t begin = 0; begin < result.count(); begin += row) {
        const float* left = a.floats().data();
        const float* right = b.floats().data();
        std::int64_t rest = begin / row;
        for (std::size_t axis = walk.extents.size() - 1; axis-- > 0;) {
            const std::int64_t i = rest % walk.extents[axis];
            rest /= walk.extents[axis];
            left += i * walk.by_a[axis];
            right += i * walk.by_b[axis];
        }
        for (std::int64_t i = 0; i < row; ++i)
            out[begin + i] = combine(left[i * step_a], right[i * step_b]);
    }
    return result;
}

template <class Map>
Tensor mapped(const Tensor& x, const Map& map) {
    Tensor result = Tensor::empty(DType::f32, x.shape());
    std::ranges::transform(x.floats(), result.mutable_floats().begin(),
                           [&](float value) { return float(map(double(value))); });
    return result;
}

double activated(Activation::Kind kind, double x) {
    using Kind = Activation::Kind;
    switch (kind) {
        case Kind::gelu: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
        case Kind::relu: return x < 0 ? 0 : x;  // a NaN stays one
        case Kind::silu: return x / (1 + std::exp(-x));
        case Kind::sigmoid: return 1 / (1 + std::exp(-x));
        case Kind::tanh: return std::tanh(x);
        case Kind::sqrt: return std::sqrt(x);
        case Kind::rsqrt: return 1 / std::sqrt(x);
    }
    throw Error("[activation] unknown kind");
}

}  // namespace

Shape Add::infer(Shapes in) const { return broadcast(kName, in); }
Tensor Add::compute(Tensors in, const Shape& shape) const {
    return combined(in[0], in[1], shape, [](float a, float b) { return a + b; });
}

Shape Mul::infer(Shapes in) const { return broadcast(kName, in); }
Tensor Mul::compute(Tensors in, const Shape& shape) const {
    return combined(in[0], in[1], shape, [](float a, float b) { return a * b; });
}

Shape Scale::infer(Shapes in) const { return same_as_input(kName, in); }
std::string Scale::attributes() const {
    return fmt::format("factor={:.6g} offset={:.6g}", factor, offset);
}

Tensor Scale::compute(Tensors in, const Shape&) const {
    return mapped(in[0], [&](double x) { return factor * x + offset; });
}

Shape Activation::infer(Shapes in) const { return same_as_input(kName, in); }
std::string Activation::attributes() const {
    constexpr const char* kNames[] = {"gelu", "relu", "silu", "sigmoid", "tanh", "sqrt", "rsqrt"};
    return kNames[int(kind)];
}

Tensor Activation::compute(Tensors in, const Shape&) const {
    return mapped(in[0], [&](double x) { return activated(kind, x); });
}

}  // namespace cait::op
