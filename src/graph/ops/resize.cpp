// Maps of another size: interpolated, and as means of a fixed number of parts.
#include <algorithm>
#include <cmath>

#include "graph/ops/support.h"

namespace cait::op {

namespace {

// Where a pixel of the result lies between two of the source.
struct Between {
    std::int64_t low = 0, high = 0;
    double share = 0;  // of the higher one
};

Between between(std::int64_t at, std::int64_t from, std::int64_t to) {
    const double place = std::max(0.0, double(from) / double(to) * (double(at) + 0.5) - 0.5);
    const std::int64_t low = std::min(std::int64_t(place), from - 1);
    return {low, std::min(low + 1, from - 1), place - double(low)};
}

// In floats, as PyTorch has it: their rounding decides where a pixel lies on the border of two.
std::int64_t nearest(std::int64_t at, std::int64_t from, std::int64_t to) {
    const float place = std::floor(float(at) * (float(from) / float(to)));
    return std::min(std::int64_t(place), from - 1);
}

}  // namespace

Shape Resize::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    expect_rank(kName, "an image batch", in[0], 4);
    if (height < 1 || width < 1)
        reject(kName, "expected at least one pixel, got a size of {}x{}", height, width);
    return {in[0][0], in[0][1], height, width};
}

std::string Resize::attributes() const {
    return fmt::format("{} to={}x{}", kind == Kind::bilinear ? "bilinear" : "nearest", height,
                       width);
}

Tensor Resize::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t from_height = in[0].shape()[2], from_width = in[0].shape()[3];
    const float* plane = in[0].floats().data();
    float* to = result.mutable_floats().data();
    for (std::int64_t each = 0; each < shape[0] * shape[1]; ++each) {
        const auto at = [&](std::int64_t y, std::int64_t x) {
            return double(plane[y * from_width + x]);
        };
        for (std::int64_t row = 0; row < height; ++row)
            for (std::int64_t column = 0; column < width; ++column) {
                if (kind == Kind::nearest) {
                    *to++ = plane[nearest(row, from_height, height) * from_width +
                                  nearest(column, from_width, width)];
                    continue;
                }
                const Between y = between(row, from_height, height);
                const Between x = between(column, from_width, width);
                const auto across = [&](std::int64_t line) {
                    return at(line, x.low) * (1 - x.share) + at(line, x.high) * x.share;
                };
                *to++ = float(across(y.low) * (1 - y.share) + across(y.high) * y.share);
            }
        plane += from_height * from_width;
    }
    return result;
}

Shape AdaptivePool2d::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    expect_rank(kName, "an image batch", in[0], 4);
    if (size < 1) reject(kName, "expected at least one part, got {}", size);
    return {in[0][0], in[0][1], size, size};
}

std::string AdaptivePool2d::attributes() const { return fmt::format("size={}", size); }

Tensor AdaptivePool2d::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t height = in[0].shape()[2], width = in[0].shape()[3];
    const float* plane = in[0].floats().data();
    float* to = result.mutable_floats().data();
    for (std::int64_t each = 0; each < shape[0] * shape[1]; ++each, plane += height * width)
        for (std::int64_t row = 0; row < size; ++row)
            for (std::int64_t column = 0; column < size; ++column) {
                const auto [top, bottom] = part(row, height);
                const auto [left, right] = part(column, width);
                double sum = 0;
                for (std::int64_t y = top; y < bottom; ++y)
                    for (std::int64_t x = left; x < right; ++x) sum += double(plane[y * width + x]);
                *to++ = float(sum / double((bottom - top) * (right - left)));
            }
    return result;
}

}  // namespace cait::op
