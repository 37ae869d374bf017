// Things in a photograph, marked: the outline of a box, and a mask as a tint with a pure border.
// Whatever lies outside is clipped.
#pragma once

#include <cstdint>

#include "image/image.h"
#include "image/masks/run_mask.h"
#include "image/ops/crop.h"
#include "image/ops/resize.h"

namespace cait {

// Pixels wide enough to be seen in an image of that size: 1 for a thumbnail, 3 for 1000 pixels.
std::int64_t outline_width(const Image& canvas);

// Edges are rounded to whole pixels; the line is `width` pixels wide, inside of them. Boxes that
// are narrower than a pixel are drawn as one. Numbers that are not finite draw nothing.
void draw_box(Image& canvas, const Box& box, const Colour& colour, std::int64_t width);

// Mixes the colour into what is inside (`strength` 1 hides the photograph), and draws it pure where
// a pixel beside it is outside. Throws Error where the mask is of another size than the image.
void tint_mask(Image& canvas, const RunMask& mask, const Colour& colour, double strength = 0.45);

}  // namespace cait
