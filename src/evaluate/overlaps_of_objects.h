// How much what was found in an image and what is annotated there overlap, box by box and mask by
// mask, as pycocotools computes it.
#pragma once

#include <span>
#include <vector>

#include "data/object.h"
#include "evaluate/detect_image.h"
#include "evaluate/match_detections.h"

namespace cait {

// What judge_image() takes.
struct ComparedObjects {
    std::vector<double> found;  // areas
    std::vector<AnnotatedSize> annotated;
    std::vector<double> overlaps;  // (found, annotated)
};

ComparedObjects compare_boxes(std::span<const DetectedObject* const> found,
                              std::span<const Object* const> annotated);

// Masks of the image's size. A found thing without a mask overlaps nothing. An object without one
// is not looked for: what lies in its box is ignored, as in a crowd.
ComparedObjects compare_masks(std::span<const DetectedObject* const> found,
                              std::span<const Object* const> annotated, std::int64_t width,
                              std::int64_t height);

}  // namespace cait
