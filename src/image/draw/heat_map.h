// Numbers over an image as colours: where a network looks.
#pragma once

#include <span>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

// Dark violet over red to pale yellow for 0 to 1; the brightness rises steadily, so the order can
// be read in grey print as well.
Colour heat_colour(double value);

struct HeatMap {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::span<const float> values;  // (height, width)
};

// The map enlarged smoothly to the image's size, its smallest value dark and its largest bright,
// and mixed with the image: `strength` 1 shows the map alone. Throws Error when a value is not
// finite or their number is wrong.
Image overlay(const Image& image, const HeatMap& map, double strength = 0.6);

}  // namespace cait
