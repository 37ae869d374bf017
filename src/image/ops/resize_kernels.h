// The two passes of a resize, in plain C++ and for AVX2. Both give the same bytes.
#pragma once

#include <cstdint>

#include "image/ops/resize_weights.h"
#include "image/view.h"

namespace cait {

// Rows [0, source.height) of the source, each resampled to weights.outputs pixels; with `mirror`
// the result is flipped from left to right. Output rows lie `stride` bytes apart.
using HorizontalPass = void (*)(const ImageView& source, const ResizeWeights& weights, bool mirror,
                                std::uint8_t* output, std::int64_t stride);

// weights.outputs rows of `row_bytes` bytes, each a weighted sum of source rows; the source's first
// row is number `first_row` in the numbering of the weights.
using VerticalPass = void (*)(const std::uint8_t* source, std::int64_t first_row,
                              std::int64_t row_bytes, const ResizeWeights& weights,
                              std::uint8_t* output);

struct ResizeKernels {
    HorizontalPass horizontal;
    VerticalPass vertical;
};

ResizeKernels portable_resize_kernels();
bool avx2_resize_available();
ResizeKernels avx2_resize_kernels();  // only where available
ResizeKernels best_resize_kernels();

}  // namespace cait
