// Normalisations: of each token, and of each channel over a batch.
#include <cmath>

#include "graph/builder.h"
#include "graph/ops/support.h"

namespace cait::op {

Shape LayerNorm::infer(Shapes in) const {
    expect_count(kName, in, 3, 3);
    expect_shape(kName, "a weight", in[1], {in[0][-1]});
    expect_shape(kName, "a bias", in[2], {in[0][-1]});
    return in[0];
}
std::string LayerNorm::attributes() const { return fmt::format("epsilon={:g}", epsilon); }
Value LayerNorm::decompose(Builder& b, Values in, Location at) const {
    const Value x = in[0];
    const Value mean = b.reduce(x, Reduce::Kind::mean, {-1}, true, at);
    const Value centred = b.add(x, b.scale(mean, -1, 0, at), at);
    const Value variance =
        b.reduce(b.mul(centred, centred, at), Reduce::Kind::mean, {-1}, true, at);
    const Value inverse =
        b.activation(b.scale(variance, 1, epsilon, at), Activation::Kind::rsqrt, at);
    return b.add(b.mul(b.mul(centred, inverse, at), in[1], at), in[2], at);
}

Shape BatchNorm::infer(Shapes in) const {
    expect_count(kName, in, 5, 5);
    if (in[0].rank() < 2) reject(kName, "expected channels on axis 1, got {}", in[0].to_string());
    for (const Shape& statistic : in.subspan(1))
        expect_shape(kName, "parameters and statistics", statistic, {in[0][1]});
    return in[0];
}

std::string BatchNorm::attributes() const {
    return fmt::format("epsilon={:g} momentum={:g}", epsilon, momentum);
}

// By the running statistics.
Tensor BatchNorm::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<const float> x = in[0].floats(), weight = in[1].floats(), bias = in[2].floats(),
                                 mean = in[3].floats(), variance = in[4].floats();
    const std::span<float> y = result.mutable_floats();
    const AxisView view(shape, 1);
    for (std::size_t at = 0; at < y.size(); ++at) {
        const auto c = std::size_t(std::int64_t(at) / view.inner % view.extent);
        const double inverse = 1 / std::sqrt(double(variance[c]) + epsilon);
        y[at] = float((double(x[at]) - double(mean[c])) * inverse * double(weight[c]) +
                      double(bias[c]));
    }
    return result;
}

}  // namespace cait::op
