#include "image/evaluation_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cait/error.h"
#include "image/ops/crop.h"

namespace cait {

namespace {

constexpr std::array<std::string_view, 3> kModes{"centre", "squash", "border"};

// The size that just covers (longest = false) or just fits into (true) the target.
Extent keeping_ratio(const Extent& image, Extent target, bool longest) {
    const double down = double(image.height) / double(target.height);
    const double across = double(image.width) / double(target.width);
    const double ratio = longest ? std::max(down, across) : std::min(down, across);
    const auto side = [&](std::int64_t size) {
        return std::max(std::int64_t(std::nearbyint(double(size) / ratio)), std::int64_t(1));
    };
    return {side(image.width), side(image.height)};
}

// One axis of a centred crop: where it starts in the resized image and how much of it is there.
struct Span {
    std::int64_t start;   // negative: this many pixels of padding come first
    std::int64_t inside;  // first pixel of the resized image that is needed
    std::int64_t count;
};

Span centred(std::int64_t size, std::int64_t crop_size) {
    const std::int64_t start = centred_start(size, crop_size);
    return {start, std::max(start, std::int64_t(0)), std::min(size, crop_size)};
}

// How large the whole image becomes, and which part of that is shown.
struct Placement {
    Extent whole;
    Span across;
    Span down;
};

Placement place(const EvaluationTransform& transform, const Extent& image) {
    transform.check();
    if (image.width < 1 || image.height < 1)
        throw Error(fmt::format("preprocess: expected an image of at least 1x1, found {}x{}",
                                image.width, image.height));
    const Extent before{side_before_crop(transform.width, transform.crop_ratio),
                        side_before_crop(transform.height, transform.crop_ratio)};
    Extent whole = before;
    if (transform.mode == CropMode::border)
        whole = keeping_ratio(image, before, true);
    else if (transform.mode == CropMode::centre)
        whole = before.width == before.height
                    ? with_shorter_side(image.width, image.height, before.width)
                    : keeping_ratio(image, before, false);
    return {whole, centred(whole.width, transform.width), centred(whole.height, transform.height)};
}

}  // namespace

std::string_view crop_mode_name(CropMode mode) { return kModes[std::size_t(mode)]; }

CropMode parse_crop_mode(std::string_view name) {
    if (name == "center") return CropMode::centre;  // timm's spelling
    for (std::size_t i = 0; i < kModes.size(); ++i)
        if (kModes[i] == name) return CropMode(i);
    throw UsageError(fmt::format("crop mode: expected centre, squash or border, found '{}'", name));
}

std::int64_t side_before_crop(std::int64_t size, double crop_ratio) {
    return std::max(std::int64_t(std::floor(double(size) / crop_ratio)), std::int64_t(1));
}

Extent with_shorter_side(std::int64_t width, std::int64_t height, std::int64_t side) {
    const std::int64_t shorter = std::min(width, height);
    const std::int64_t longer = std::max(width, height);
    const auto other = std::int64_t(double(side * longer) / double(shorter));
    return width <= height ? Extent{side, other} : Extent{other, side};
}

void EvaluationTransform::check() const {
    if (height < 1 || width < 1)
        throw UsageError(
            fmt::format("image size: expected at least 1x1, found {}x{}", height, width));
    if (!(crop_ratio >= kLeastCropRatio && crop_ratio <= kMostCropRatio))
        throw UsageError(fmt::format("crop ratio: expected {:g} to {:g}, found {:g}",
                                     kLeastCropRatio, kMostCropRatio, crop_ratio));
}

void EvaluationTransform::crop(const Image& image, EvaluationWorkspace& workspace,
                               Image& result) const {
    const auto [whole, across, down] = place(*this, {image.width, image.height});
    // Only what the crop shows is computed: a very long image costs no more than a square one.
    const ResizeTarget target{whole.width, whole.height, across.inside,
                              down.inside, across.count, down.count};
    if (across.count == width && down.count == height)
        return resize(image, target, filter, false, result, workspace.resize);
    resize(image, target, filter, false, workspace.resized, workspace.resize);
    const Colour padding = mode == CropMode::border ? mean_colour(mean) : Colour{};
    cait::crop(workspace.resized, std::min(across.start, std::int64_t(0)),
               std::min(down.start, std::int64_t(0)), width, height, Padding::colour, padding,
               result);
}

Box EvaluationTransform::seen(std::int64_t image_width, std::int64_t image_height) const {
    const auto [whole, across, down] = place(*this, {image_width, image_height});
    const double x = double(image_width) / double(whole.width);
    const double y = double(image_height) / double(whole.height);
    return {double(across.start) * x, double(down.start) * y, double(across.start + width) * x,
            double(down.start + height) * y};
}

}  // namespace cait
