// Changes of colour as mmsegmentation draws them, through OpenCV's 8-bit HSV, equal to the last
// bit: hues from 0 to 179, and values cut off at whole numbers after each step.
#pragma once

#include "image/image.h"

namespace cait {

// Every value times `factor` plus `shift`, clipped to 0 to 255, without its fraction.
void scale_values(Image& image, double factor, double shift);

// The two are for RGB images. A turn is in degrees / 2, from -180 on.
void scale_saturation(Image& image, double factor);
void turn_hue(Image& image, int turn);

}  // namespace cait
