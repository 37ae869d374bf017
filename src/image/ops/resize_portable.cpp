// The resize passes in plain C++: the reference for the vector kernels, and the only ones
// elsewhere.
#include <algorithm>
#include <vector>

#include "image/ops/resize_kernels.h"

namespace cait {

namespace {

constexpr std::int32_t kRound = 1 << (kWeightBits - 1);

std::uint8_t to_pixel(std::int32_t sum) {
    return std::uint8_t(std::clamp(sum >> kWeightBits, 0, 255));
}

template <int channels>
void resample_row(const std::uint8_t* row, const ResizeWeights& weights, bool mirror,
                  std::uint8_t* output) {
    for (std::int64_t x = 0; x < weights.outputs; ++x) {
        const auto o = std::size_t(x);
        const std::int32_t* weight = weights.whole.data() + x * weights.taps;
        const std::uint8_t* pixel = row + std::int64_t(weights.first[o]) * channels;
        std::int32_t sums[channels];
        std::fill_n(sums, channels, kRound);
        for (std::int32_t i = 0; i < weights.count[o]; ++i)
            for (int c = 0; c < channels; ++c) sums[c] += weight[i] * pixel[i * channels + c];
        std::uint8_t* target = output + (mirror ? weights.outputs - 1 - x : x) * channels;
        for (int c = 0; c < channels; ++c) target[c] = to_pixel(sums[c]);
    }
}

void horizontal_portable(const ImageView& source, const ResizeWeights& weights, bool mirror,
                         std::uint8_t* output, std::int64_t stride) {
    const auto resample = source.channels == 1 ? resample_row<1> : resample_row<3>;
    for (std::int64_t y = 0; y < source.height; ++y)
        resample(source.row(y), weights, mirror, output + y * stride);
}

void vertical_portable(const std::uint8_t* source, std::int64_t first_row, std::int64_t row_bytes,
                       const ResizeWeights& weights, std::uint8_t* output) {
    constexpr std::int64_t kBlock = 256;  // sums stay in the first-level cache
    std::int32_t sums[kBlock];
    for (std::int64_t y = 0; y < weights.outputs; ++y) {
        const auto o = std::size_t(y);
        const std::int32_t* weight = weights.whole.data() + y * weights.taps;
        const std::uint8_t* rows = source + (weights.first[o] - first_row) * row_bytes;
        for (std::int64_t start = 0; start < row_bytes; start += kBlock) {
            const std::int64_t length = std::min(kBlock, row_bytes - start);
            std::fill_n(sums, length, kRound);
            for (std::int32_t i = 0; i < weights.count[o]; ++i) {
                const std::uint8_t* row = rows + i * row_bytes + start;
                for (std::int64_t x = 0; x < length; ++x) sums[x] += weight[i] * row[x];
            }
            std::uint8_t* target = output + y * row_bytes + start;
            for (std::int64_t x = 0; x < length; ++x) target[x] = to_pixel(sums[x]);
        }
    }
}

}  // namespace

ResizeKernels portable_resize_kernels() { return {horizontal_portable, vertical_portable}; }

ResizeKernels best_resize_kernels() {
    return avx2_resize_available() ? avx2_resize_kernels() : portable_resize_kernels();
}

}  // namespace cait
