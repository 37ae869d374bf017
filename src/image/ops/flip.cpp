#include "image/ops/flip.h"

#include <algorithm>
#include <cstring>

namespace cait {

void mirror_row(const std::uint8_t* source, std::int64_t width, std::int64_t channels,
                std::uint8_t* output) {
    if (channels == 1) {
        std::reverse_copy(source, source + width, output);
        return;
    }
    const std::uint8_t* pixel = source + (width - 1) * 3;
    // Four bytes are moved for three: the fourth is overwritten by the next pixel. At the two ends,
    // where it would be outside, only three are.
    std::int64_t x = 0;
    if (width > 1) std::memcpy(output, pixel, 3);
    for (x = 1; x + 1 < width; ++x) std::memcpy(output + x * 3, pixel - x * 3, 4);
    std::memcpy(output + (width - 1) * 3, source, 3);
}

void flip_horizontally(Image& image) {
    if (image.channels == 1) {
        for (std::int64_t y = 0; y < image.height; ++y)
            std::reverse(image.row(y), image.row(y) + image.width);
        return;
    }
    for (std::int64_t y = 0; y < image.height; ++y) {
        std::uint8_t* left = image.row(y);
        std::uint8_t* right = left + (image.width - 1) * 3;
        for (; left < right; left += 3, right -= 3)
            for (int c = 0; c < 3; ++c) std::swap(left[c], right[c]);
    }
}

}  // namespace cait
