#include "image/ops/blur.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "system/isa.h"

namespace cait {

namespace {

constexpr int kPasses = 3;
constexpr int kFractionBits = 24;

// A box of 2 * whole + 1 pixels with full weight and one more at each side with part of it.
struct FractionalBox {
    std::int64_t whole = 0;
    std::uint32_t weight = 0;  // with 24 fractional bits
    std::uint32_t edge_weight = 0;
};

// The box whose threefold application has the Gaussian's variance: "extended box filter" of Gwosdek
// et al., Theoretical Foundations of Gaussian Convolution by Extended Box Filtering (2011).
FractionalBox box_for(float radius) {
    const float variance = radius * radius / kPasses;
    const auto length = float(std::sqrt(12.0 * variance + 1.0));
    const auto whole = float(std::floor((length - 1.0) / 2.0));
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
    part /= 6 * (variance - (whole + 1) * (whole + 1));
    const float total = whole + part;
    FractionalBox box;
    box.whole = std::int64_t(total);
    box.weight = std::uint32_t(float(1 << kFractionBits) / (total * 2 + 1));
    box.edge_weight = ((1U << kFractionBits) - std::uint32_t(box.whole * 2 + 1) * box.weight) / 2;
    return box;
}

// One output value per byte of `rows[k]`, k from -(whole + 1) to whole + 1.
[[gnu::always_inline]] inline void sum_rows(const std::uint8_t* const* rows, std::int64_t count,
                                            const FractionalBox& box, std::uint8_t* output) {
    const std::int64_t last = 2 * (box.whole + 1);
    constexpr std::int64_t kBlock = 64;
    for (std::int64_t start = 0; start < count; start += kBlock) {
        const std::int64_t length = std::min(kBlock, count - start);
        std::uint32_t sums[kBlock] = {};
        for (std::int64_t k = 1; k < last; ++k) {
            const std::uint8_t* row = rows[k] + start;
            for (std::int64_t i = 0; i < length; ++i) sums[i] += row[i];
        }
        const std::uint8_t* first = rows[0] + start;
        const std::uint8_t* final = rows[last] + start;
        for (std::int64_t i = 0; i < length; ++i) {
            const std::uint32_t ends = std::uint32_t(first[i]) + final[i];
            const std::uint32_t value = sums[i] * box.weight + ends * box.edge_weight;
            output[start + i] =
                std::uint8_t((value + (1U << (kFractionBits - 1))) >> kFractionBits);
        }
    }
}

CAIT_AVX2 void sum_rows_avx2(const std::uint8_t* const* rows, std::int64_t count,
                             const FractionalBox& box, std::uint8_t* output) {
    sum_rows(rows, count, box, output);
}

void sum_rows_plain(const std::uint8_t* const* rows, std::int64_t count, const FractionalBox& box,
                    std::uint8_t* output) {
    sum_rows(rows, count, box, output);
}

using SumRows = void (*)(const std::uint8_t* const*, std::int64_t, const FractionalBox&,
                         std::uint8_t*);

// A row is a set of shifted copies of itself: the same sum as down the columns.
void blur_across(Image& image, const FractionalBox& box, SumRows sum, std::uint8_t* padded,
                 std::vector<const std::uint8_t*>& rows) {
    const std::int64_t channels = image.channels;
    const std::int64_t reach = box.whole + 1;
    const std::int64_t row_bytes = image.width * channels;
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = padded + std::int64_t(k) * channels;
    for (std::int64_t y = 0; y < image.height; ++y) {
        std::uint8_t* row = image.row(y);
        for (int pass = 0; pass < kPasses; ++pass) {
            for (std::int64_t x = 0; x < reach; ++x) {
                std::copy_n(row, channels, padded + x * channels);
                std::copy_n(row + row_bytes - channels, channels,
                            padded + (reach + image.width + x) * channels);
            }
            std::memcpy(padded + reach * channels, row, std::size_t(row_bytes));
            sum(rows.data(), row_bytes, box, row);
        }
    }
}

void blur_down(Image& image, const FractionalBox& box, SumRows sum, std::uint8_t* copy,
               std::vector<const std::uint8_t*>& rows) {
    const std::int64_t reach = box.whole + 1;
    const std::int64_t row_bytes = image.width * image.channels;
    for (int pass = 0; pass < kPasses; ++pass) {
        std::memcpy(copy, image.pixels.data(), image.pixels.size());
        for (std::int64_t y = 0; y < image.height; ++y) {
            for (std::size_t k = 0; k < rows.size(); ++k) {
                const std::int64_t at = y + std::int64_t(k) - reach;
                rows[k] = copy + std::clamp(at, std::int64_t(0), image.height - 1) * row_bytes;
            }
            sum(rows.data(), row_bytes, box, image.row(y));
        }
    }
}

}  // namespace

void gaussian_blur(Image& image, double radius, BlurWorkspace& workspace) {
    if (radius <= 0 || image.pixels.empty()) return;
    const FractionalBox box = box_for(float(radius));
    const SumRows sum = has_avx2() ? sum_rows_avx2 : sum_rows_plain;
    const std::int64_t reach = box.whole + 1;
    workspace.rows.resize(std::size_t(2 * reach + 1));
    const std::int64_t padded = (image.width + 2 * reach) * image.channels;
    workspace.pixels.resize(std::max(image.pixels.size(), std::size_t(padded)));
    blur_across(image, box, sum, workspace.pixels.data(), workspace.rows);
    blur_down(image, box, sum, workspace.pixels.data(), workspace.rows);
}

}  // namespace cait
