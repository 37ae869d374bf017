// Changes of colour as SSD (Liu et al. 2016) and mmsegmentation draw them: brightness, contrast,
// saturation and hue, each with a chance of a half.
#pragma once

#include "data/sampler.h"
#include "image/image.h"

namespace cait {

// Of an RGB image; a function of the key.
void distort_colours(Image& image, const SampleKey& key);

}  // namespace cait
