// Named tensors that a checkpoint keeps for an optimiser or a weight average, and putting them
// back.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cait {

using TensorState = std::vector<std::pair<std::string, at::Tensor>>;

// Copies `stored` into the tensors of `own`, bit for bit. Throws Error ("WHAT 'NAME': …") for a
// tensor that is missing, left over, or of another shape or type; nothing has been copied then.
void restore(const TensorState& own, const std::map<std::string, at::Tensor>& stored,
             std::string_view what);

}  // namespace cait
