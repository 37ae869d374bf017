#include "weights/position_embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cait/error.h"
#include "core/convert.h"

namespace cait {

namespace {

// The four source rows (or columns) of one target row, and their weights.
struct Taps {
    std::array<std::int64_t, 4> index;
    std::array<float, 4> weight;
};

// Float32 with fused multiply-adds, as in PyTorch: the kernel cancels so much that other
// arithmetic, double included, gives weights that differ by more than 1e-6.

constexpr float kCubic = -0.75F;  // the free constant of Keys' kernel

// The kernel at distance x <= 1 of the sample, and beyond.
float near_weight(float x) { return std::fma(std::fma(kCubic + 2, x, -(kCubic + 3)) * x, x, 1.0F); }

float far_weight(float x) {
    return std::fma(std::fma(std::fma(kCubic, x, -5 * kCubic), x, 8 * kCubic), x, -4 * kCubic);
}

std::vector<Taps> taps_for(std::int64_t from, std::int64_t to) {
    const float scale = float(from) / float(to);
    std::vector<Taps> taps;
    taps.resize(std::size_t(to));
    for (std::int64_t i = 0; i < to; ++i) {
        const float centre = std::fma(scale, float(i) + 0.5F, -0.5F);
        const float base = std::floor(centre);
        const float t = centre - base, u = 1 - t;
        Taps& tap = taps[std::size_t(i)];
        tap.weight = {far_weight(t + 1), near_weight(t), near_weight(u), far_weight(u + 1)};
        for (std::int64_t k = 0; k < 4; ++k)
            tap.index[std::size_t(k)] =
                std::clamp<std::int64_t>(std::int64_t(base) - 1 + k, 0, from - 1);
    }
    return taps;
}

}  // namespace

Tensor resize_position_embedding(const Tensor& pos, std::int64_t prefix, std::int64_t from_h,
                                 std::int64_t from_w, std::int64_t to_h, std::int64_t to_w) {
    const bool grids = prefix >= 0 && from_h > 0 && from_w > 0 && to_h > 0 && to_w > 0;
    if (!grids || pos.shape().rank() != 3 || pos.shape()[0] != 1 ||
        pos.shape()[1] != prefix + from_h * from_w)
        throw Error(fmt::format(
            "position embedding: expected shape [1, {} + {}*{}, D] to resize to {}x{}, found {}",
            prefix, from_h, from_w, to_h, to_w, pos.shape().to_string()));
    Tensor aligned = convert(pos, DType::f32);
    if (from_h == to_h && from_w == to_w) return aligned;

    const std::int64_t dim = pos.shape()[2];
    Tensor result = Tensor::empty(DType::f32, {1, prefix + to_h * to_w, dim});
    const float* source = aligned.floats().data();
    float* target = result.mutable_floats().data();
    std::copy_n(source, prefix * dim, target);
    source += prefix * dim;
    target += prefix * dim;

    const std::vector<Taps> rows = taps_for(from_h, to_h), columns = taps_for(from_w, to_w);
    for (const Taps& row : rows)
        for (const Taps& column : columns)
            for (std::int64_t d = 0; d < dim; ++d) {
                double sum = 0;
                for (std::size_t y = 0; y < 4; ++y)
                    for (std::size_t x = 0; x < 4; ++x)
                        sum += double(row.weight[y]) * double(column.weight[x]) *
                               double(source[(row.index[y] * from_w + column.index[x]) * dim + d]);
                *target++ = float(sum);
            }
    return result;
}

}  // namespace cait
