// Gaussian blur, after Pillow: three box blurs of fractional radius in each direction.
#pragma once

#include <cstdint>
#include <vector>

#include "image/image.h"

namespace cait {

// Memory that blurs share.
struct BlurWorkspace {
    std::vector<std::uint8_t> pixels;
    std::vector<const std::uint8_t*> rows;
};

// `radius` is the std in pixels.
void gaussian_blur(Image& image, double radius, BlurWorkspace& workspace);

}  // namespace cait
