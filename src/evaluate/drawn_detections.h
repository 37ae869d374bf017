// What was found in an image, drawn over it.
#pragma once

#include <cstdint>
#include <span>

#include "evaluate/detect_image.h"
#include "evaluate/segment_classes.h"
#include "image/image.h"

namespace cait {

// How many times as large a small image is drawn, so that names do not hide what they name: a whole
// number, 1 for images that are large enough.
std::int64_t drawing_scale(std::int64_t width, std::int64_t height);

// Boxes and masks in the colours of their classes, with names and scores, drawing_scale() times as
// large as the image. The best are drawn last, on top of the others.
Image drawn_detections(const Image& image, std::span<const DetectedObject> found,
                       const SegmentClasses& classes);

}  // namespace cait
