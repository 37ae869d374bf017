// Numbers over an image as colours: where a network looks.
#pragma once

#include <span>

#include "image/image.h"
#include "image/ops/crop.h"
#include "image/ops/resize.h"

namespace cait {

// Dark violet over red to pale yellow for 0 to 1; the brightness rises steadily, so the order can
// be read in grey print as well.
Colour heat_colour(double value);

struct HeatMap {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::span<const float> values;  // (height, width)
};

// The map enlarged smoothly over the part `where` of the image (in its pixels; it may reach beyond
// it), its smallest value dark and its largest bright, and mixed with the image: `strength` 1 shows
// the map alone. Outside `where` the image is only darker. Throws Error when a value is not finite,
// their number is wrong or nothing of `where` is inside the image.
Image overlay(const Image& image, const HeatMap& map, const Box& where, double strength = 0.6);

}  // namespace cait
