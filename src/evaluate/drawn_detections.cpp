#include "evaluate/drawn_detections.h"

#include <fmt/format.h>

#include <vector>

#include "image/draw/labelled_boxes.h"

namespace cait {

Image drawn_detections(const Image& image, std::span<const DetectedObject> found,
                       const SegmentClasses& classes) {
    std::vector<LabelledBox> boxes;
    for (const DetectedObject& object : found) {
        const auto index = std::size_t(object.label);
        boxes.push_back({.box = {double(object.box.left), double(object.box.top),
                                 double(object.box.right), double(object.box.bottom)},
                         .colour = classes.colours.at(index),
                         .text = fmt::format("{} {:.0f} %", classes.names.at(index),
                                             100 * double(object.score)),
                         .mask = object.mask});
    }
    return with_labelled_boxes(image, boxes);
}

}  // namespace cait
