// The weights of one axis of a resize, computed and rounded as Pillow does, so that results are
// equal to its results.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cait {

enum class Filter { box, bilinear, bicubic, lanczos };

std::string_view filter_name(Filter filter);
Filter parse_filter(std::string_view name);  // throws UsageError

// Weights are integers with this many fractional bits: 32 less 8 for the pixel and 2 for overshoot.
inline constexpr int kWeightBits = 22;
// The vector kernels multiply 16-bit numbers: weight = high * 2^kLowBits + low, without loss.
inline constexpr int kLowBits = 11;

struct ResizeWeights {
    std::int64_t outputs = 0;
    std::int64_t taps = 0;            // of the widest window, rounded up to a multiple of four
    std::vector<std::int32_t> first;  // (outputs) where the window starts in the source
    std::vector<std::int32_t> count;  // (outputs) taps that are not padding
    std::vector<std::int32_t> whole;  // (outputs, taps), zero beyond the count
    std::vector<std::int16_t> high;   // (outputs, taps)
    std::vector<std::int16_t> low;    // (outputs, taps)
    std::vector<double> exact;        // (taps) scratch

    // The source interval [begin, end) of an axis with `size` pixels becomes `total` pixels; the
    // weights are those of the `output_count` from number `output_begin` on. Pixels outside the
    // interval, but inside the axis, take part, as with Pillow's `box`.
    void compute(std::int64_t size, float begin, float end, std::int64_t total,
                 std::int64_t output_begin, std::int64_t output_count, Filter filter);
};

}  // namespace cait
