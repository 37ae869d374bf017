// Colour, contrast, brightness and sharpness, after ImageEnhance of Pillow: the image is mixed
// with, or moved away from, a version without the property. A factor of 1 changes nothing, 0 takes
// it away.
#pragma once

#include <cstdint>
#include <vector>

#include "image/image.h"

namespace cait {

void make_grey(Image& image);  // stays an image of three channels
void adjust_colour(Image& image, double factor);
void adjust_contrast(Image& image, double factor);
void adjust_brightness(Image& image, double factor);
void adjust_sharpness(Image& image, double factor, std::vector<std::uint8_t>& scratch);

// Turns the hue by a share of the full circle, in [-0.5, 0.5], after torchvision (8-bit hues).
void adjust_hue(Image& image, double turn);

}  // namespace cait
