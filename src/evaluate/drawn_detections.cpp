#include "evaluate/drawn_detections.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "image/draw/draw.h"
#include "image/draw/labelled_boxes.h"

namespace cait {

namespace {

constexpr std::int64_t kLargeEnough = 1024;  // longer side
constexpr std::int64_t kMostTimes = 4;
constexpr int kEnlargedText = 14;  // pixels: of an enlarged picture, read as it is

RunMask enlarged(const RunMask& mask, std::int64_t scale) {
    if (mask.runs.empty() || scale == 1) return mask;
    const Image pixels{mask.width, mask.height, 1, mask_pixels(mask)};
    const Image large = scaled(pixels, scale * mask.width, scale * mask.height, Scaling::nearest);
    return run_mask(large.pixels, large.width, large.height);
}

}  // namespace

std::int64_t drawing_scale(std::int64_t width, std::int64_t height) {
    const std::int64_t side = std::max({width, height, std::int64_t{1}});
    return std::clamp<std::int64_t>(kLargeEnough / side, 1, kMostTimes);
}

Image drawn_detections(const Image& image, std::span<const DetectedObject> found,
                       const SegmentClasses& classes) {
    const std::int64_t scale = drawing_scale(image.width, image.height);
    const auto at = [scale](float place) { return double(scale) * double(place); };
    std::vector<LabelledBox> boxes;
    for (const DetectedObject& object : found) {
        const auto index = std::size_t(object.label);
        boxes.push_back({.box = {at(object.box.left), at(object.box.top), at(object.box.right),
                                 at(object.box.bottom)},
                         .colour = classes.colours.at(index),
                         .text = fmt::format("{} {:.0f} %", classes.names.at(index),
                                             100 * double(object.score)),
                         .mask = enlarged(object.mask, scale)});
    }
    if (scale == 1) return with_labelled_boxes(image, boxes);
    return with_labelled_boxes(
        scaled(image, scale * image.width, scale * image.height, Scaling::smooth), boxes,
        kEnlargedText);
}

}  // namespace cait
