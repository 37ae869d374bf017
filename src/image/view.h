// A zero-copy view of a rectangle of an image: what a crop followed by a resize reads.
#pragma once

#include <cstdint>

#include "image/image.h"

namespace cait {

struct ImageView {
    const std::uint8_t* pixels = nullptr;
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t channels = 3;
    std::int64_t stride = 0;            // bytes from one row to the next
    const std::uint8_t* end = nullptr;  // of the buffer: vector loads stay below it

    ImageView() = default;
    ImageView(const Image& image)  // NOLINT: an image is a view of all of itself
        : pixels(image.pixels.data()),
          width(image.width),
          height(image.height),
          channels(image.channels),
          stride(image.width * image.channels),
          end(image.pixels.data() + image.pixels.size()) {}

    const std::uint8_t* row(std::int64_t y) const { return pixels + y * stride; }

    // The part that starts at (left, top); the caller keeps it inside.
    ImageView part(std::int64_t left, std::int64_t top, std::int64_t part_width,
                   std::int64_t part_height) const {
        ImageView result = *this;
        result.pixels = row(top) + left * channels;
        result.width = part_width;
        result.height = part_height;
        return result;
    }
};

// Gives an image another form; its memory is kept when it suffices. The pixels are undefined.
inline void reshape(Image& image, std::int64_t width, std::int64_t height, std::int64_t channels) {
    image.width = width;
    image.height = height;
    image.channels = channels;
    image.pixels.resize(std::size_t(width * height * channels));
}

}  // namespace cait
