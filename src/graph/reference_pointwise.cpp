// The plain interpreter's elementwise loops, and those along an axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cait/error.h"
#include "graph/reference_ops.h"

namespace cait::reference {

namespace {

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

double activated(op::Activation::Kind kind, double x) {
    using Kind = op::Activation::Kind;
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

Tensor compute(const op::Add&, Inputs in, const Shape& shape) {
    return combined(in[0], in[1], shape, [](float a, float b) { return a + b; });
}

Tensor compute(const op::Mul&, Inputs in, const Shape& shape) {
    return combined(in[0], in[1], shape, [](float a, float b) { return a * b; });
}

Tensor compute(const op::Scale& op, Inputs in, const Shape&) {
    return mapped(in[0], [&](double x) { return op.factor * x + op.offset; });
}

Tensor compute(const op::Activation& op, Inputs in, const Shape&) {
    return mapped(in[0], [&](double x) { return activated(op.kind, x); });
}

Tensor compute(const op::Softmax& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> x = in[0].floats();
    const std::span<float> y = result.mutable_floats();
    const AxisView view = axis_view(shape, op.axis);
    for (std::int64_t o = 0; o < view.outer; ++o)
        for (std::int64_t r = 0; r < view.inner; ++r) {
            const auto at = [&](std::int64_t i) {
                return std::size_t((o * view.extent + i) * view.inner + r);
            };
            double most = -std::numeric_limits<double>::infinity(), sum = 0;
            for (std::int64_t i = 0; i < view.extent; ++i) most = std::max(most, double(x[at(i)]));
            for (std::int64_t i = 0; i < view.extent; ++i) sum += std::exp(double(x[at(i)]) - most);
            for (std::int64_t i = 0; i < view.extent; ++i)
                y[at(i)] = float(std::exp(double(x[at(i)]) - most) / sum);
        }
    return result;
}

Tensor compute(const op::Reduce& op, Inputs in, const Shape& shape) {
    using Kind = op::Reduce::Kind;
    const Shape& from = in[0].shape();
    std::vector<bool> is_reduced(from.rank(), false);
    for (const std::int64_t axis : op.axes)
        is_reduced[std::size_t(axis < 0 ? axis + std::int64_t(from.rank()) : axis)] = true;
    const bool is_max = op.kind == Kind::max;
    std::vector<double> sums(std::size_t(shape.count()),
                             is_max ? -std::numeric_limits<double>::infinity() : 0.0);
    const std::span<const float> x = in[0].floats();
    for (std::size_t at = 0; at < x.size(); ++at) {
        std::int64_t rest = std::int64_t(at), to = 0, stride = 1;
        for (std::int64_t axis = std::int64_t(from.rank()) - 1; axis >= 0; --axis) {
            const std::int64_t i = rest % from[axis];
            rest /= from[axis];
            if (is_reduced[std::size_t(axis)]) continue;
            to += i * stride;
            stride *= from[axis];
        }
        double& sum = sums[std::size_t(to)];
        sum = is_max ? std::max(sum, double(x[at])) : sum + double(x[at]);
    }
    const double each =
        op.kind == Kind::mean && !sums.empty() ? double(x.size()) / double(sums.size()) : 1.0;
    Tensor result = Tensor::empty(DType::f32, shape);
    std::ranges::transform(sums, result.mutable_floats().begin(),
                           [&](double sum) { return float(sum / each); });
    return result;
}

// By the running statistics.
Tensor compute(const op::BatchNorm& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> x = in[0].floats(), weight = in[1].floats(), bias = in[2].floats(),
                                 mean = in[3].floats(), variance = in[4].floats();
    const std::span<float> y = result.mutable_floats();
    const AxisView view = axis_view(shape, 1);
    for (std::size_t at = 0; at < y.size(); ++at) {
        const auto c = std::size_t(std::int64_t(at) / view.inner % view.extent);
        const double inverse = 1 / std::sqrt(double(variance[c]) + op.epsilon);
        y[at] = float((double(x[at]) - double(mean[c])) * inverse * double(weight[c]) +
                      double(bias[c]));
    }
    return result;
}

}  // namespace cait::reference
