// The masks of an image in COCO's text form, within a number of bytes that is known before anything
// is found.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "evaluate/detect_image.h"

namespace cait::serve {

// Of all masks of an image together, as JSON writes them. Those of a hundred large objects take a
// tenth of it.
inline constexpr std::size_t kMostMaskText = std::size_t{2} << 20;

struct MaskTexts {
    std::vector<std::string> texts;  // one for each object; empty where it does not fit any more
    std::size_t left_out = 0;        // that did not fit: those of the least likely objects
};

MaskTexts mask_texts(std::span<const DetectedObject> found, std::size_t most = kMostMaskText);

}  // namespace cait::serve
