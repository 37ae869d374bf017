// Bicubic shears and translations along one axis: four taps with the same weights for a whole row.
#include <algorithm>
#include <array>
#include <cmath>

#include "image/ops/affine_kernels.h"
#include "system/isa.h"

namespace cait {

namespace {

constexpr int kShiftBits =
    20;  // of the fraction: 255 times the sum of absolute weights stays in 32 bits

struct Taps {
    std::array<std::int32_t, 4> weights{};
};

// The cubic with a = -1 between the second and the third tap; the weights add up to one exactly.
Taps cubic_taps(double t) {
    const double t2 = t * t;
    const double t3 = t2 * t;
    const std::array<double, 4> exact{-t + 2 * t2 - t3, 1 - 2 * t2 + t3, t + t2 - t3, t3 - t2};
    Taps taps;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        taps.weights[i] = std::int32_t(std::lround(exact[i] * (1 << kShiftBits)));
        sum += taps.weights[i];
    }
    taps.weights[t < 0.5 ? 1 : 2] += (1 << kShiftBits) - sum;
    return taps;
}

using Rows = std::array<const std::uint8_t*, 4>;

[[gnu::always_inline]] inline void mix_rows(const Rows& rows, const Taps& taps, std::int64_t count,
                                            std::uint8_t* output) {
    const auto [w0, w1, w2, w3] = taps.weights;
    const auto [a, b, c, d] = rows;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int32_t sum = w0 * a[i] + w1 * b[i] + w2 * c[i] + w3 * d[i];
        output[i] = std::uint8_t(std::clamp(sum >> kShiftBits, 0, 255));
    }
}

CAIT_AVX2 void mix_rows_avx2(const Rows& rows, const Taps& taps, std::int64_t count,
                             std::uint8_t* output) {
    mix_rows(rows, taps, count, output);
}

void mix_rows_plain(const Rows& rows, const Taps& taps, std::int64_t count, std::uint8_t* output) {
    mix_rows(rows, taps, count, output);
}

using MixRows = void (*)(const Rows&, const Taps&, std::int64_t, std::uint8_t*);

// Output positions [begin, end) whose source position + shift + 0.5 is in [0, size).
struct Range {
    std::int64_t begin;
    std::int64_t end;
};

Range covered(double shift, std::int64_t size) {
    const auto inside = [&](std::int64_t x) {
        const double source = double(x) + 0.5 + shift;
        return source >= 0 && source < double(size);
    };
    const double limit = double(size) + 2;
    auto begin = std::int64_t(std::clamp(std::floor(-shift - 0.5), -1.0, limit)) - 1;
    begin = std::max(begin, std::int64_t(0));
    while (begin < size && !inside(begin)) ++begin;
    auto end = std::int64_t(std::clamp(std::ceil(double(size) - shift + 0.5), 0.0, limit));
    end = std::min(end, size);
    while (end > begin && !inside(end - 1)) --end;
    return {begin, end};
}

}  // namespace

void shift_rows_bicubic(const Image& source, const AffineMap& affine, Image& result) {
    const MixRows mix = has_avx2() ? mix_rows_avx2 : mix_rows_plain;
    const std::int64_t channels = source.channels;
    const std::int64_t last = source.width - 1;
    for (std::int64_t y = 0; y < source.height; ++y) {
        const double shift = affine.xy * (double(y) + 0.5) + affine.x0;
        const double whole = std::floor(shift);
        const auto [begin, end] = covered(shift, source.width);
        if (begin >= end) continue;
        const Taps taps = cubic_taps(shift - whole);
        const auto offset = std::int64_t(whole);
        const std::uint8_t* row = source.row(y);
        std::uint8_t* output = result.row(y);
        const auto one = [&](std::int64_t x) {
            Rows rows;
            for (std::int64_t i = 0; i < 4; ++i)
                rows[std::size_t(i)] =
                    row + std::clamp(x + offset + i - 1, std::int64_t(0), last) * channels;
            mix_rows_plain(rows, taps, channels, output + x * channels);
        };
        // Where all four taps are inside, they are shifted copies of the row.
        const std::int64_t from = std::clamp(1 - offset, begin, end);
        const std::int64_t to = std::clamp(last - 1 - offset, from, end);
        for (std::int64_t x = begin; x < from; ++x) one(x);
        if (to > from) {
            const std::uint8_t* first = row + (from + offset - 1) * channels;
            mix({first, first + channels, first + 2 * channels, first + 3 * channels}, taps,
                (to - from) * channels, output + from * channels);
        }
        for (std::int64_t x = to; x < end; ++x) one(x);
    }
}

void shift_columns_bicubic(const Image& source, const AffineMap& affine, Image& result) {
    const MixRows mix = has_avx2() ? mix_rows_avx2 : mix_rows_plain;
    const double whole = std::floor(affine.y0);
    const Taps taps = cubic_taps(affine.y0 - whole);
    const auto [begin, end] = covered(affine.y0, source.height);
    for (std::int64_t y = begin; y < end; ++y) {
        Rows rows;
        for (std::int64_t i = 0; i < 4; ++i)
            rows[std::size_t(i)] = source.row(
                std::clamp(y + std::int64_t(whole) + i - 1, std::int64_t(0), source.height - 1));
        mix(rows, taps, source.width * source.channels, result.row(y));
    }
}

}  // namespace cait
