#include "weights/position_embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/convert.h"
#include "cait/error.h"

namespace cait {

namespace {

// The source rows (or columns) of one target row, and their weights.
struct Taps {
    std::vector<std::int64_t> index;
    std::vector<float> weight;
};

// Float32 with fused multiply-adds, as in PyTorch: the kernel cancels so much that other
// arithmetic, double included, gives weights that differ by more than 1e-6.

// Keys' kernel with its free constant a, at distance x <= 1 of the sample, and beyond.
float near_weight(float a, float x) { return std::fma(std::fma(a + 2, x, -(a + 3)) * x, x, 1.0F); }

float far_weight(float a, float x) {
    return std::fma(std::fma(std::fma(a, x, -5 * a), x, 8 * a), x, -4 * a);
}

// `scale` is the step in the source from one target row to the next.
std::vector<Taps> four_taps(std::int64_t from, std::int64_t to, float scale) {
    constexpr float kCubic = -0.75F;
    std::vector<Taps> taps;
    for (std::int64_t i = 0; i < to; ++i) {
        const float centre = std::fma(scale, float(i) + 0.5F, -0.5F);
        const float base = std::floor(centre);
        const float t = centre - base, u = 1 - t;
        Taps tap{{},
                 {far_weight(kCubic, t + 1), near_weight(kCubic, t), near_weight(kCubic, u),
                  far_weight(kCubic, u + 1)}};
        for (std::int64_t k = 0; k < 4; ++k)
            tap.index.push_back(std::clamp<std::int64_t>(std::int64_t(base) - 1 + k, 0, from - 1));
        taps.push_back(std::move(tap));
    }
    return taps;
}

std::vector<Taps> two_taps(std::int64_t from, std::int64_t to) {
    std::vector<Taps> taps;
    for (std::int64_t i = 0; i < to; ++i) {
        const float scale = float(from) / float(to);
        const float centre = std::max(std::fma(scale, float(i) + 0.5F, -0.5F), 0.0F);
        const auto first = std::int64_t(centre);
        const float share = centre - float(first);
        taps.push_back({{first, std::min(first + 1, from - 1)}, {1 - share, share}});
    }
    return taps;
}

// The kernel is stretched over as many rows as become one, and its weights sum to 1.
std::vector<Taps> antialiased_taps(std::int64_t from, std::int64_t to) {
    constexpr float kCubic = -0.5F;
    const float scale = float(from) / float(to), stretch = std::max(scale, 1.0F);
    std::vector<Taps> taps;
    for (std::int64_t i = 0; i < to; ++i) {
        const float centre = scale * (float(i) + 0.5F), support = 2 * stretch;
        const auto first = std::max<std::int64_t>(std::int64_t(centre - support + 0.5F), 0);
        const auto last = std::min<std::int64_t>(std::int64_t(centre + support + 0.5F), from);
        Taps tap;
        float sum = 0;
        for (std::int64_t k = first; k < last; ++k) {
            const float x = std::fabs((float(k) - centre + 0.5F) / stretch);
            const float weight = x < 1   ? near_weight(kCubic, x)
                                 : x < 2 ? far_weight(kCubic, x)
                                         : 0.0F;
            tap.index.push_back(k);
            tap.weight.push_back(weight);
            sum += weight;
        }
        for (float& weight : tap.weight) weight /= sum;
        taps.push_back(std::move(tap));
    }
    return taps;
}

std::vector<Taps> taps_for(PositionRule rule, std::int64_t from, std::int64_t to) {
    constexpr double kOffset = 0.1;
    if (rule == PositionRule::antialiased) return antialiased_taps(from, to);
    if (rule == PositionRule::bilinear) return two_taps(from, to);
    if (rule == PositionRule::offset)
        return four_taps(from, to, float(1.0 / ((double(to) + kOffset) / double(from))));
    return four_taps(from, to, float(from) / float(to));
}

}  // namespace

Tensor resize_position_embedding(const Tensor& pos, std::int64_t prefix, std::int64_t from_h,
                                 std::int64_t from_w, std::int64_t to_h, std::int64_t to_w,
                                 PositionRule rule) {
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

    const std::vector<Taps> rows = taps_for(rule, from_h, to_h);
    const std::vector<Taps> columns = taps_for(rule, from_w, to_w);
    for (const Taps& row : rows)
        for (const Taps& column : columns)
            for (std::int64_t d = 0; d < dim; ++d) {
                double sum = 0;
                for (std::size_t y = 0; y < row.index.size(); ++y)
                    for (std::size_t x = 0; x < column.index.size(); ++x)
                        sum += double(row.weight[y]) * double(column.weight[x]) *
                               double(source[(row.index[y] * from_w + column.index[x]) * dim + d]);
                *target++ = float(sum);
            }
    return result;
}

}  // namespace cait
