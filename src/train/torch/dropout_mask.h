// Which elements dropout keeps.
#pragma once

#include <string_view>

#include "train/torch/evaluate.h"

namespace cait {

// Shaped like `like`, whose first axis is the batch: 0, or 1 / (1 - rate) in the format and on the
// device of `like`. A pure function of seed, step, node, the image's place in the whole batch and
// the element's place in the image, so that neither threads nor the way in which a batch is dealt
// out change it.
at::Tensor dropout_mask(std::string_view node, double rate, const at::Tensor& like,
                        const EvaluateContext& context);

}  // namespace cait
