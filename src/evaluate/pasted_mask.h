// A mask as a network gives it, a small square of probabilities, laid over its box in an image.
#pragma once

#include <cstdint>
#include <span>

#include "image/masks/run_mask.h"
#include "models/regions.h"

namespace cait {

inline constexpr float kMaskThreshold = 0.5F;

// probabilities (side, side), row by row; `box` in pixels of the image, of which the mask has the
// size. Between the centres of its cells a mask is bilinear, and half a cell beyond its edge it has
// fallen to nothing. Pixels are inside from the threshold on. With padded_masks the box is first
// made whole pixels, larger by a cell at each side, and pixels are inside above the threshold.
// Needs memory for the runs and one side of the box. A box that is not finite, has no area or lies
// outside the image has an empty mask, and so has a probability that is not a number around it.
// Throws Error where `probabilities` is not such a square, or the image has no pixels.
RunMask pasted_mask(std::span<const float> probabilities, std::int64_t side, const Region& box,
                    std::int64_t width, std::int64_t height, const RegionRules& rules,
                    float threshold = kMaskThreshold);

}  // namespace cait
