// Rotation, shear and translation with a fill colour, after Image.transform of Pillow.
#pragma once

#include <cstdint>
#include <vector>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

enum class Interpolation { nearest, bilinear, bicubic };

// Where an output pixel's value comes from: x' = xx * x + xy * y + x0, y' = yx * x + yy * y + y0.
struct AffineMap {
    double xx = 1;
    double xy = 0;
    double x0 = 0;
    double yx = 0;
    double yy = 1;
    double y0 = 0;
};

// Counter-clockwise about the centre.
AffineMap rotation(double degrees, std::int64_t width, std::int64_t height);

// Memory that transforms share.
struct AffineWorkspace {
    Image source;
    std::vector<float> padded;
};

// The result has the same size.
void transform(Image& image, const AffineMap& affine, Interpolation interpolation,
               const Colour& outside, AffineWorkspace& workspace);

}  // namespace cait
