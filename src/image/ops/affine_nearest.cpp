// Affine transforms without interpolation. Pillow steps through the source in 16-bit fixed point,
// which decides the pixel where two are equally near; so do we.
#include <cmath>

#include "image/ops/affine_kernels.h"

namespace cait {

namespace {

constexpr int kFixedBits = 16;

std::int64_t fixed(double value) {
    return std::int64_t(std::floor(value * (1 << kFixedBits) + 0.5));
}

template <std::int64_t channels>
void transform_rows(const Image& source, const AffineMap& affine, Image& result) {
    const std::int64_t xx = fixed(affine.xx);
    const std::int64_t xy = fixed(affine.xy);
    const std::int64_t yx = fixed(affine.yx);
    const std::int64_t yy = fixed(affine.yy);
    const std::int64_t x0 = fixed(affine.x0 + affine.xx * 0.5 + affine.xy * 0.5);
    const std::int64_t y0 = fixed(affine.y0 + affine.yx * 0.5 + affine.yy * 0.5);
    for (std::int64_t y = 0; y < result.height; ++y) {
        std::int64_t px = x0 + y * xy;
        std::int64_t py = y0 + y * yy;
        std::uint8_t* output = result.row(y);
        for (std::int64_t x = 0; x < result.width; ++x, px += xx, py += yx, output += channels) {
            const std::int64_t column = px >> kFixedBits;
            const std::int64_t row = py >> kFixedBits;
            if (column < 0 || column >= source.width || row < 0 || row >= source.height) continue;
            const std::uint8_t* pixel =
                source.pixels.data() + (row * source.width + column) * channels;
            for (std::int64_t c = 0; c < channels; ++c) output[c] = pixel[c];
        }
    }
}

}  // namespace

void transform_nearest(const Image& source, const AffineMap& affine, Image& result) {
    if (source.channels == 3)
        transform_rows<3>(source, affine, result);
    else
        transform_rows<1>(source, affine, result);
}

}  // namespace cait
