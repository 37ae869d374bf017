#include "serve/engine/decode_time.h"

#include <algorithm>

namespace cait::serve {

namespace {

constexpr std::array<double, 3> kSecondsPerPixel = {8e-9, 15e-9, 12e-9};  // JPEG, PNG, WebP

double pixels_of(const ImageInfo& image) { return double(image.width) * double(image.height); }

}  // namespace

double DecodeTime::expected(const ImageInfo& image) const {
    const auto format = std::size_t(image.format);
    return scale_[format] * kSecondsPerPixel[format] * pixels_of(image);
}

void DecodeTime::observe(const ImageInfo& image, double seconds) {
    constexpr double kWeight = 0.1, kFurthest = 4;
    constexpr double kFewPixels = 65'536;  // of these the rest of the work takes longer
    const double pixels = pixels_of(image);
    if (pixels < kFewPixels) return;
    const auto format = std::size_t(image.format);
    const double now =
        std::clamp(seconds / (kSecondsPerPixel[format] * pixels), 1 / kFurthest, kFurthest);
    // Of two observations at the same time one may be lost.
    scale_[format] = (1 - kWeight) * scale_[format] + kWeight * now;
}

}  // namespace cait::serve
