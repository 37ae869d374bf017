// Fits the weights of a learned mix of patches (ResMLP's linear layer across patches) to another
// grid, as when a model is used at another resolution.
#pragma once

#include <cstdint>

#include "cait/tensor.h"

namespace cait {

// mixing is [outputs, inputs] or a bias [outputs]. An axis stands for the grid when it has
// from_h * from_w extents and `target` has to_h * to_w there; any other axis has to agree. Bicubic
// over every grid axis (as position embeddings are), and the weights of the inputs times
// from_h * from_w / (to_h * to_w): more patches that say the same must not add up to more. The
// result has the shape `target`.
//
// Only a start for fine-tuning: the thesis that the model comes from finds that interpolated
// weights adapt poorly to other resolutions.
Tensor resize_patch_mixing(const Tensor& mixing, std::int64_t from_h, std::int64_t from_w,
                           std::int64_t to_h, std::int64_t to_w, const Shape& target);

}  // namespace cait
