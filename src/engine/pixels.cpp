#include "engine/pixels.h"

#include <fmt/format.h>

#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

}  // namespace

Image image_of(const Pixels& pixels) {
    const std::int64_t row = pixels.width * pixels.channels;
    const std::int64_t step = pixels.row_bytes == 0 ? row : pixels.row_bytes;
    const bool fits = pixels.data != nullptr && pixels.width > 0 && pixels.height > 0 &&
                      pixels.width <= kMostPixels / pixels.height &&
                      (pixels.channels == 1 || pixels.channels == 3) && step >= row;
    if (!fits)
        throw Error(
            fmt::format("pixels: expected rows of 1 or 3 channels, found {}x{} of {} with "
                        "{} bytes a row",
                        pixels.width, pixels.height, pixels.channels, step));
    Image image = Image::blank(pixels.width, pixels.height, pixels.channels);
    for (std::int64_t y = 0; y < pixels.height; ++y)
        std::memcpy(image.row(y), pixels.data + y * step, std::size_t(row));
    return image;
}

}  // namespace cait
