// Mixup and CutMix of a whole batch, as training and the preview of it apply them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/image_size.h"
#include "data/augment/mixup.h"
#include "data/batch.h"
#include "train/recipe/recipe.h"

namespace cait {

// How the images of a batch are mixed; no draws once the recipe has switched mixing off. A function
// of the recipe's seed, the batch's size and place in the run and `rank` alone.
std::function<std::vector<MixDraw>(const Batch&)> batch_mixing(const Recipe& recipe,
                                                               const Mixup& mixup, ImageSize size,
                                                               std::size_t rank = 0);

}  // namespace cait
