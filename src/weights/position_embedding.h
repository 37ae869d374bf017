// Fits a learned position embedding to another grid of patches, as when a model is fine-tuned or
// used at another resolution.
#pragma once

#include <cstdint>

#include "base/position_rule.h"
#include "cait/tensor.h"

namespace cait {

// pos is float32 [1, prefix + from_h * from_w, D]; the prefix rows (class token …) are kept as they
// are. Pixel centres aligned, borders clamped: the numbers of PyTorch's
// interpolate(mode='bicubic', align_corners=False) with what the rule adds to it, or those of
// mode='bilinear'. An equal grid is left alone under every rule.
Tensor resize_position_embedding(const Tensor& pos, std::int64_t prefix, std::int64_t from_h,
                                 std::int64_t from_w, std::int64_t to_h, std::int64_t to_w,
                                 PositionRule rule = PositionRule::plain);

}  // namespace cait
