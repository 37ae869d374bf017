#include "image/ops/orient.h"

#include <cstddef>

namespace cait {

namespace {

// Where the target's first pixel lies in the source, and how far its right and lower neighbours are
// from it there. In pixels.
struct Walk {
    std::ptrdiff_t start;
    std::ptrdiff_t right;
    std::ptrdiff_t down;
    bool swaps;  // width and height
};

Walk walk_of(std::ptrdiff_t width, std::ptrdiff_t height, int orientation) {
    const std::ptrdiff_t last_column = width - 1;
    const std::ptrdiff_t last_row = (height - 1) * width;
    switch (orientation) {
        case 2: return {last_column, -1, width, false};
        case 3: return {last_row + last_column, -1, -width, false};
        case 4: return {last_row, 1, -width, false};
        case 5: return {0, width, 1, true};
        case 6: return {last_row, -width, 1, true};
        case 7: return {last_row + last_column, -width, -1, true};
        case 8: return {last_column, width, -1, true};
        default: return {0, 1, width, false};
    }
}

template <int channels>
void copy(const Image& from, Image& to, const Walk& walk) {
    for (std::int64_t y = 0; y < to.height; ++y) {
        std::ptrdiff_t source = (walk.start + y * walk.down) * channels;
        std::uint8_t* target = to.row(y);
        for (std::int64_t x = 0; x < to.width; ++x, target += channels) {
            for (int c = 0; c < channels; ++c) target[c] = from.pixels[std::size_t(source + c)];
            source += walk.right * channels;
        }
    }
}

}  // namespace

Image orient(Image image, int orientation) {
    if (orientation < 2 || orientation > 8 || image.pixels.empty()) return image;
    const Walk walk = walk_of(image.width, image.height, orientation);
    Image turned = walk.swaps ? Image::blank(image.height, image.width, image.channels)
                              : Image::blank(image.width, image.height, image.channels);
    if (image.channels == 1)
        copy<1>(image, turned, walk);
    else
        copy<3>(image, turned, walk);
    return turned;
}

}  // namespace cait
