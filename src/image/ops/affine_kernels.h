// The loops of affine transforms. Output pixels whose source is outside keep their colour.
#pragma once

#include <vector>

#include "image/ops/affine.h"

namespace cait {

void transform_nearest(const Image& source, const AffineMap& affine, Image& result);

// Bilinear or bicubic, any matrix; `padded` is scratch memory, 16 bytes per pixel.
void transform_smooth(const Image& source, const AffineMap& affine, Interpolation interpolation,
                      std::vector<float>& padded, Image& result);

// Shears and translations along one axis need a filter along that axis only.
inline bool is_shift_along_rows(const AffineMap& affine) {
    return affine.xx == 1 && affine.yx == 0 && affine.yy == 1 && affine.y0 == 0;
}
inline bool is_shift_of_rows(const AffineMap& affine) {
    return affine.xx == 1 && affine.xy == 0 && affine.x0 == 0 && affine.yx == 0 && affine.yy == 1;
}
void shift_rows_bicubic(const Image& source, const AffineMap& affine, Image& result);
void shift_columns_bicubic(const Image& source, const AffineMap& affine, Image& result);

}  // namespace cait
