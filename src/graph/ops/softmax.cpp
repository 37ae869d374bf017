#include <cmath>
#include <limits>

#include "graph/ops/support.h"

namespace cait::op {

Shape Softmax::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    axis_of(kName, axis, in[0]);
    return in[0];
}
std::string Softmax::attributes() const { return fmt::format("axis={}", axis); }
Tensor Softmax::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> x = in[0].floats();
    const std::span<float> y = result.mutable_floats();
    const AxisView view(shape, axis);
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

}  // namespace cait::op
