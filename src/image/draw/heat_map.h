// Numbers over an image as colours: where a network looks.
#pragma once

#include <span>
#include <vector>

#include "image/draw/colour_map.h"
#include "image/image.h"
#include "image/ops/crop.h"
#include "image/ops/resize.h"

namespace cait {

struct HeatMap {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::span<const float> values;  // (height, width)
};

// (x - min) / (max - min), from 0 to 1; all 0 where no value differs from another. Throws Error
// when one is not finite.
std::vector<float> normalised(std::span<const float> values);

// A pixel for each value: those of normalised() as 0 to 255. Throws Error as it does, and when
// their number is wrong.
Image grey_map(const HeatMap& map);

// The map enlarged smoothly over the part `where` of the image (in its pixels; it may reach beyond
// it), its smallest value dark and its largest bright, and mixed with the image: `strength` 1 shows
// the map alone. Outside `where` the image is only darker. Throws Error when a value is not finite,
// their number is wrong or nothing of `where` is inside the image.
Image overlay(const Image& image, const HeatMap& map, const Box& where, double strength = 0.6);

// As in figure 3.10 of Touvron's thesis: the image in grey, multiplied with the map, which is first
// enlarged and then normalised, and the product in the colours of cividis. Outside `where` the
// image is a darker grey. Throws as overlay() does.
Image saliency(const Image& image, const HeatMap& map, const Box& where);

}  // namespace cait
