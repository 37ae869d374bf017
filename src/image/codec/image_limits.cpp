#include "image/codec/image_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace cait {

namespace {

// Resizing weighs every pixel of a row or column, so a line of millions of pixels costs seconds and
// gigabytes where a square of them costs nothing. No JPEG or WebP can be longer than this.
constexpr std::int64_t kLongestSide = 65'535;

}  // namespace

void check_image_size(std::int64_t width, std::int64_t height, const std::string& name,
                      const DecodeLimits& limits) {
    if (width > kLongestSide || height > kLongestSide)
        throw ImageError(ImageError::Why::too_large,
                         fmt::format("{}: expected at most {} pixels a side, found {}x{}", name,
                                     kLongestSide, width, height));
    // Both are below 2^32 and positive, so that only the product needs care.
    const std::uint64_t pixels = std::uint64_t(width) * std::uint64_t(height);
    if (pixels > std::uint64_t(std::max<std::int64_t>(limits.pixels, 0)))
        throw ImageError(ImageError::Why::too_large,
                         fmt::format("{}: expected at most {} pixels, found {}x{}", name,
                                     limits.pixels, width, height));
}

}  // namespace cait
