#include "image/ops/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "image/ops/affine_kernels.h"

namespace cait {

namespace {

double rounded_to_15_digits(double value) { return std::round(value * 1e15) / 1e15; }

void fill(Image& image, const Colour& colour) {
    std::uint8_t* first = image.row(0);
    for (std::int64_t x = 0; x < image.width; ++x)
        std::copy_n(colour.data(), image.channels, first + x * image.channels);
    const auto row_bytes = std::size_t(image.width * image.channels);
    for (std::int64_t y = 1; y < image.height; ++y) std::memcpy(image.row(y), first, row_bytes);
}

}  // namespace

AffineMap rotation(double degrees, std::int64_t width, std::int64_t height) {
    const double angle =
        -std::fmod(std::fmod(degrees, 360.0) + 360.0, 360.0) * std::numbers::pi / 180;
    AffineMap result;
    result.xx = rounded_to_15_digits(std::cos(angle));
    result.xy = rounded_to_15_digits(std::sin(angle));
    result.yx = rounded_to_15_digits(-std::sin(angle));
    result.yy = rounded_to_15_digits(std::cos(angle));
    const double centre_x = double(width) / 2;
    const double centre_y = double(height) / 2;
    result.x0 = result.xx * -centre_x + result.xy * -centre_y + centre_x;
    result.y0 = result.yx * -centre_x + result.yy * -centre_y + centre_y;
    return result;
}

void transform(Image& image, const AffineMap& affine, Interpolation interpolation,
               const Colour& outside, AffineWorkspace& workspace) {
    if (image.pixels.empty()) return;
    Image& source = workspace.source;
    std::swap(image, source);
    reshape(image, source.width, source.height, source.channels);
    fill(image, outside);
    if (interpolation == Interpolation::nearest)
        transform_nearest(source, affine, image);
    else if (interpolation == Interpolation::bicubic && is_shift_along_rows(affine))
        shift_rows_bicubic(source, affine, image);
    else if (interpolation == Interpolation::bicubic && is_shift_of_rows(affine))
        shift_columns_bicubic(source, affine, image);
    else
        transform_smooth(source, affine, interpolation, workspace.padded, image);
}

}  // namespace cait
