// Which images keep a branch under stochastic depth.
#pragma once

#include <string_view>
#include <vector>

#include "train/torch/evaluate.h"

namespace cait {

// For each of `images`: 0, or 1 / (1 - rate). A pure function of seed, step, node and the image's
// place in the whole batch, so it is the same on every device, for every number of threads and
// however the batch is dealt out to processes or worked through in parts.
std::vector<float> drop_factors(std::string_view node, double rate, std::size_t images,
                                const EvaluateContext& context);

}  // namespace cait
