#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "graph/ops/support.h"

namespace cait::op {

Shape Reduce::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    std::vector<bool> is_reduced(in[0].rank(), false);
    for (const std::int64_t axis : axes)
        is_reduced[std::size_t(axis_of(kName, axis, in[0]))] = true;
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < in[0].rank(); ++i) {
        if (!is_reduced[i])
            extents.push_back(in[0][std::int64_t(i)]);
        else if (keep)
            extents.push_back(1);
    }
    return Shape(std::move(extents));
}

std::string Reduce::attributes() const {
    constexpr const char* kNames[] = {"mean", "sum", "max"};
    return fmt::format("{} axes={}{}", kNames[int(kind)], fmt::join(axes, ","),
                       keep ? " keep" : "");
}

Tensor Reduce::compute(Tensors in, const Shape& shape) const {
    const Shape& from = in[0].shape();
    std::vector<bool> is_reduced(from.rank(), false);
    for (const std::int64_t axis : axes) is_reduced[std::size_t(axis_of(kName, axis, from))] = true;
    const bool is_max = kind == Kind::max;
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
        kind == Kind::mean && !sums.empty() ? double(x.size()) / double(sums.size()) : 1.0;
    Tensor result = Tensor::empty(DType::f32, shape);
    std::ranges::transform(sums, result.mutable_floats().begin(),
                           [&](double sum) { return float(sum / each); });
    return result;
}

}  // namespace cait::op
