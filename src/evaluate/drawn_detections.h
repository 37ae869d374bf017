// What was found in an image, drawn over it.
#pragma once

#include <span>

#include "evaluate/detect_image.h"
#include "evaluate/segment_classes.h"
#include "image/image.h"

namespace cait {

// Boxes and masks in the colours of their classes, with names and scores. The best are drawn last,
// on top of the others.
Image drawn_detections(const Image& image, std::span<const DetectedObject> found,
                       const SegmentClasses& classes);

}  // namespace cait
