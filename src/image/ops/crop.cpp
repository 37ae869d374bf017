#include "image/ops/crop.h"

#include <algorithm>
#include <cstring>

namespace cait {

namespace {

// The index in [0, size) that a mirrored index stands for.
std::int64_t reflected(std::int64_t index, std::int64_t size) {
    if (size == 1) return 0;
    const std::int64_t period = 2 * (size - 1);
    index %= period;
    if (index < 0) index += period;
    return index < size ? index : period - index;
}

void fill(std::uint8_t* output, std::int64_t pixels, std::int64_t channels, const Colour& colour) {
    if (channels == 1) {
        std::fill_n(output, pixels, colour[0]);
        return;
    }
    for (std::int64_t x = 0; x < pixels; ++x, output += 3) std::copy_n(colour.data(), 3, output);
}

void mirror_pixels(const std::uint8_t* row, std::int64_t size, std::int64_t channels,
                   std::int64_t begin, std::int64_t count, std::uint8_t* output) {
    for (std::int64_t x = 0; x < count; ++x)
        std::copy_n(row + reflected(begin + x, size) * channels, channels, output + x * channels);
}

}  // namespace

void crop(const ImageView& source, std::int64_t left, std::int64_t top, std::int64_t width,
          std::int64_t height, Padding padding, const Colour& colour, Image& result) {
    const std::int64_t channels = source.channels;
    reshape(result, width, height, channels);
    // Columns of the result: [0, before) padding, [before, after) pixels, [after, width) padding.
    const std::int64_t before = std::clamp(-left, std::int64_t(0), width);
    const std::int64_t after = std::clamp(source.width - left, before, width);
    for (std::int64_t y = 0; y < height; ++y) {
        std::uint8_t* output = result.row(y);
        const std::int64_t at =
            padding == Padding::reflect ? reflected(top + y, source.height) : top + y;
        if (at < 0 || at >= source.height) {
            fill(output, width, channels, colour);
            continue;
        }
        const std::uint8_t* row = source.row(at);
        if (padding == Padding::reflect) {
            mirror_pixels(row, source.width, channels, left, before, output);
            mirror_pixels(row, source.width, channels, left + after, width - after,
                          output + after * channels);
        } else {
            fill(output, before, channels, colour);
            fill(output + after * channels, width - after, channels, colour);
        }
        if (after > before)
            std::memcpy(output + before * channels, row + (left + before) * channels,
                        std::size_t((after - before) * channels));
    }
}

std::int64_t centred_start(std::int64_t size, std::int64_t crop_size) {
    if (crop_size > size) return -((crop_size - size) / 2);
    const std::int64_t half = (size - crop_size) / 2;
    return (size - crop_size) % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

}  // namespace cait
