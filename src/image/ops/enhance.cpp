#include "image/ops/enhance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "image/ops/point_ops.h"
#include "system/isa.h"

namespace cait {

namespace {

// ITU-R 601 luma in 16-bit fixed point, the weights of Pillow's conversion to "L".
std::uint32_t luma(const std::uint8_t* pixel) {
    return (pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >> 16U;
}

// Pillow mixes in single precision and drops the fraction.
std::uint8_t mix(float without, float with, float factor) {
    return std::uint8_t(std::clamp(without + factor * (with - without), 0.0F, 255.0F));
}

void mix_with_constant(Image& image, int without, double factor) {
    PointTable table{};
    for (int i = 0; i < 256; ++i)
        table[std::size_t(i)] = mix(float(without), float(i), float(factor));
    apply_table(image, table);
}

// Sum of the 3x3 neighbourhood, the centre five times: thirteen parts, divided and rounded.
// 5042 / 2^16 is a little over 1/13 and exact for all sums that 8-bit pixels can have.
[[gnu::always_inline]] inline void sharpen_row(const std::uint8_t* above, const std::uint8_t* row,
                                               const std::uint8_t* below, std::int64_t begin,
                                               std::int64_t end, std::int64_t step, float factor,
                                               std::uint8_t* output) {
    for (std::int64_t i = begin; i < end; ++i) {
        const unsigned sum = above[i - step] + above[i] + above[i + step] + row[i - step] +
                             5U * row[i] + row[i + step] + below[i - step] + below[i] +
                             below[i + step];
        const unsigned smooth = ((sum + 6U) * 5042U) >> 16U;
        const auto base = float(int(smooth));
        const float value = base + factor * (float(int(row[i])) - base);
        output[i] = std::uint8_t(int(std::clamp(value, 0.0F, 255.0F)));
    }
}

CAIT_AVX2 void sharpen_row_avx2(const std::uint8_t* above, const std::uint8_t* row,
                                const std::uint8_t* below, std::int64_t begin, std::int64_t end,
                                std::int64_t step, float factor, std::uint8_t* output) {
    sharpen_row(above, row, below, begin, end, step, factor, output);
}

void sharpen_row_plain(const std::uint8_t* above, const std::uint8_t* row,
                       const std::uint8_t* below, std::int64_t begin, std::int64_t end,
                       std::int64_t step, float factor, std::uint8_t* output) {
    sharpen_row(above, row, below, begin, end, step, factor, output);
}

[[gnu::always_inline]] inline void colour_pixels(std::uint8_t* pixels, std::int64_t count,
                                                 float factor) {
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint8_t* pixel = pixels + i * 3;
        const auto grey = float(int(luma(pixel)));
        for (int c = 0; c < 3; ++c) {
            const float value = grey + factor * (float(int(pixel[c])) - grey);
            pixel[c] = std::uint8_t(int(std::clamp(value, 0.0F, 255.0F)));
        }
    }
}

CAIT_AVX2 void colour_pixels_avx2(std::uint8_t* pixels, std::int64_t count, float factor) {
    colour_pixels(pixels, count, factor);
}

void colour_pixels_plain(std::uint8_t* pixels, std::int64_t count, float factor) {
    colour_pixels(pixels, count, factor);
}

}  // namespace

void make_grey(Image& image) {
    if (image.channels != 3) return;
    std::uint8_t* pixel = image.pixels.data();
    for (const std::uint8_t* end = pixel + image.pixels.size(); pixel != end; pixel += 3) {
        const auto grey = std::uint8_t(luma(pixel));
        pixel[0] = pixel[1] = pixel[2] = grey;
    }
}

void adjust_colour(Image& image, double factor) {
    if (image.channels != 3 || factor == 1) return;
    const auto run = has_avx2() ? colour_pixels_avx2 : colour_pixels_plain;
    run(image.pixels.data(), image.width * image.height, float(factor));
}

void adjust_contrast(Image& image, double factor) {
    if (image.pixels.empty()) return;
    std::uint64_t sum = 0;
    const std::int64_t count = image.width * image.height;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint8_t* pixel = image.pixels.data() + i * image.channels;
        sum += image.channels == 3 ? luma(pixel) : *pixel;
    }
    mix_with_constant(image, int(std::floor(double(sum) / double(count) + 0.5)), factor);
}

void adjust_brightness(Image& image, double factor) { mix_with_constant(image, 0, factor); }

void adjust_sharpness(Image& image, double factor, std::vector<std::uint8_t>& scratch) {
    if (image.width < 3 || image.height < 3 || factor == 1) return;
    const std::int64_t row_bytes = image.width * image.channels;
    const auto run = has_avx2() ? sharpen_row_avx2 : sharpen_row_plain;
    // The rows are changed in place, so the two that are still needed are kept aside.
    scratch.resize(std::size_t(2 * row_bytes));
    std::uint8_t* above = scratch.data();
    std::uint8_t* current = above + row_bytes;
    std::memcpy(above, image.row(0), std::size_t(row_bytes));
    for (std::int64_t y = 1; y + 1 < image.height; ++y) {
        std::memcpy(current, image.row(y), std::size_t(row_bytes));
        run(above, current, image.row(y + 1), image.channels, row_bytes - image.channels,
            image.channels, float(factor), image.row(y));
        std::swap(above, current);
    }
}

}  // namespace cait
