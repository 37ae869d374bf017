#include "data/augment/random_crop.h"

#include <fmt/format.h>

#include <cmath>

#include "cait/error.h"
#include "data/random.h"

namespace cait {

namespace {

constexpr int kCropTries = 10;

std::int64_t rounded(double value) { return std::int64_t(std::nearbyint(value)); }

void check_interval(const Interval& interval, std::string_view name) {
    const bool good =
        interval.low > 0 && interval.low <= interval.high && std::isfinite(interval.high);
    if (!good)
        throw UsageError(fmt::format("{}: expected 0 < low <= high, found {} and {}", name,
                                     interval.low, interval.high));
}

}  // namespace

void RandomResizedCrop::check() const {
    check_interval(scale, "crop scale");
    check_interval(ratio, "crop ratio");
    if (scale.high > 1)
        throw UsageError(fmt::format("crop scale: expected at most 1, found {}", scale.high));
}

Rectangle RandomResizedCrop::choose_rectangle(std::int64_t width, std::int64_t height,
                                              RandomStream& random) const {
    const double area = double(width) * double(height);
    for (int i = 0; i < kCropTries; ++i) {
        const double target = uniform(random, scale.low, scale.high) * area;
        const double aspect = log_uniform(random, ratio.low, ratio.high);
        const std::int64_t w = rounded(std::sqrt(target * aspect));
        const std::int64_t h = rounded(std::sqrt(target / aspect));
        // timm lets a rectangle of zero pixels through and then fails; we draw again.
        if (w < 1 || h < 1 || w > width || h > height) continue;
        const std::int64_t top = choose(random, height - h + 1);
        const std::int64_t left = choose(random, width - w + 1);
        return {left, top, w, h};
    }
    std::int64_t w = width;
    std::int64_t h = height;
    const double aspect = double(width) / double(height);
    if (aspect < ratio.low)
        h = std::max(rounded(double(w) / ratio.low), std::int64_t(1));
    else if (aspect > ratio.high)
        w = std::max(rounded(double(h) * ratio.high), std::int64_t(1));
    return {(width - w) / 2, (height - h) / 2, w, h};
}

Rectangle random_crop(std::int64_t width, std::int64_t height, std::int64_t crop_width,
                      std::int64_t crop_height, std::int64_t padding, RandomStream& random) {
    const std::int64_t spare_x = width + 2 * padding - crop_width;
    const std::int64_t spare_y = height + 2 * padding - crop_height;
    if (spare_x < 0 || spare_y < 0)
        throw Error(fmt::format("random crop: expected an image of at least {}x{}, found {}x{}",
                                crop_width - 2 * padding, crop_height - 2 * padding, width,
                                height));
    const std::int64_t top = choose(random, spare_y + 1) - padding;
    const std::int64_t left = choose(random, spare_x + 1) - padding;
    return {left, top, crop_width, crop_height};
}

}  // namespace cait
