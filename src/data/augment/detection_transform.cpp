#include "data/augment/detection_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "data/augment/photometric_distortion.h"
#include "data/random.h"

namespace cait {

namespace {

std::int64_t one_of(const std::vector<std::int64_t>& values, RandomStream& random) {
    return values[std::size_t(choose(random, std::int64_t(values.size())))];
}

// Whole numbers from low to high, both clipped to the side that is there.
std::int64_t draw_crop_side(const Interval& sides, std::int64_t side, RandomStream& random) {
    const std::int64_t low = std::min(side, std::int64_t(sides.low));
    const std::int64_t high = std::min(side, std::int64_t(sides.high));
    return low + choose(random, high - low + 1);
}

Rectangle draw_crop(const Extent& image, const Interval& sides, RandomStream& random) {
    const std::int64_t height = draw_crop_side(sides, image.height, random);
    const std::int64_t width = draw_crop_side(sides, image.width, random);
    return random_crop(image.width, image.height, width, height, 0, random);
}

// Made smaller where it does not fit, at its own aspect.
Extent fit_into(const Extent& image, std::int64_t width, std::int64_t height) {
    if (image.width <= width && image.height <= height) return image;
    const double scale =
        std::min(double(width) / double(image.width), double(height) / double(image.height));
    const auto rounded = [scale](std::int64_t side, std::int64_t most) {
        return std::clamp<std::int64_t>(std::int64_t(double(side) * scale + 0.5), 1, most);
    };
    return {rounded(image.width, width), rounded(image.height, height)};
}

// Resized to `resized`, a crop of that and the crop resized to `shown`, as one step.
ScaledPart in_one_step(const Extent& resized, const Rectangle& crop, const Extent& shown) {
    const double across = double(shown.width) / double(crop.width);
    const double down = double(shown.height) / double(crop.height);
    const auto rounded = [](double value) { return std::int64_t(value + 0.5); };
    ScaledPart scaled;
    scaled.whole = {std::max(shown.width, rounded(double(resized.width) * across)),
                    std::max(shown.height, rounded(double(resized.height) * down))};
    scaled.part = {std::min(rounded(double(crop.left) * across), scaled.whole.width - shown.width),
                   std::min(rounded(double(crop.top) * down), scaled.whole.height - shown.height),
                   shown.width, shown.height};
    return scaled;
}

}  // namespace

void DetectionSettings::check() const {
    const auto fail = [](const std::string& what) { throw UsageError("augment: " + what); };
    const auto check_chance = [&](double value, const char* name) {
        if (!(value >= 0 && value <= 1))
            fail(fmt::format("{}: expected a probability from 0 to 1, found {}", name, value));
    };
    const auto check_sides = [&](const std::vector<std::int64_t>& sides, const char* name) {
        if (sides.empty()) fail(fmt::format("{}: expected at least one size, found none", name));
        for (const std::int64_t side : sides)
            if (side < 1 || side > long_side)
                fail(fmt::format("{}: expected sizes from 1 to long_side, {}, found {}", name,
                                 long_side, side));
    };
    if (height < 1 || width < 1)
        fail(fmt::format("image size: expected at least 1x1, found {}x{}", height, width));
    check_sides(short_sides, "short_sides");
    check_chance(crop, "crop");
    if (crop > 0) check_sides(crop_from, "crop_from");
    if (!(crop_side.low >= 1 && crop_side.low <= crop_side.high && crop_side.high <= 1e6))
        fail(fmt::format("crop_side: expected 1 <= low <= high, found {} and {}", crop_side.low,
                         crop_side.high));
    check_chance(flip, "flip");
    check_chance(photometric, "photometric");
}

DetectionTransform::DetectionTransform(const DetectionSettings& settings)
    : settings_(settings), normaliser_(settings.mean, settings.std) {
    settings_.check();
}

Geometry DetectionTransform::draw(const Extent& image, const SampleKey& key) const {
    RandomStream scale = key.stream(std::uint64_t(AugmentStream::scale));
    RandomStream random = key.stream(std::uint64_t(AugmentStream::crop));
    RandomStream coin = key.stream(std::uint64_t(AugmentStream::flip));
    const auto shown_of = [&](const Extent& size) {
        return fit_into(fitting(size, settings_.long_side, one_of(settings_.short_sides, scale)),
                        settings_.width, settings_.height);
    };
    ScaledPart scaled;
    if (chance(random, settings_.crop)) {
        const Extent resized =
            fitting(image, settings_.long_side, one_of(settings_.crop_from, random));
        const Rectangle crop = draw_crop(resized, settings_.crop_side, random);
        scaled = in_one_step(resized, crop, shown_of({crop.width, crop.height}));
    } else {
        const Extent shown = shown_of(image);
        scaled = {shown, {0, 0, shown.width, shown.height}};
    }
    return {.image = image,
            .part = box_in_image(image, scaled),
            .mirrored = chance(coin, settings_.flip),
            .shown = {settings_.width, settings_.height},
            .scaled = scaled};
}

Geometry DetectionTransform::apply(const Image& image, const SampleKey& key,
                                   DetectionWorkspace& workspace, std::span<float> out) const {
    const Geometry geometry = draw({image.width, image.height}, key);
    cut_scaled_part(image, geometry, settings_.filter, workspace);
    RandomStream coin = key.stream(std::uint64_t(AugmentStream::policy));
    if (chance(coin, settings_.photometric) && image.channels == 3)
        distort_colours(workspace.image, key);
    write_padded(normaliser_, {settings_.width, settings_.height}, workspace, out);
    return geometry;
}

}  // namespace cait
