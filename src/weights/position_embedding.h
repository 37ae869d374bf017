// Fits a learned position embedding to another grid of patches, as when a model is fine-tuned or
// used at another resolution.
#pragma once

#include <cstdint>

#include "cait/tensor.h"

namespace cait {

// pos is float32 [1, prefix + from_h * from_w, D]; the prefix rows (class token …) are kept as they
// are. Bicubic with a = -0.75, pixel centres aligned, borders clamped, no antialiasing: the numbers
// of PyTorch's interpolate(mode='bicubic', align_corners=False).
Tensor resize_position_embedding(const Tensor& pos, std::int64_t prefix, std::int64_t from_h,
                                 std::int64_t from_w, std::int64_t to_h, std::int64_t to_w);

}  // namespace cait
