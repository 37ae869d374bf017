// Mixup and CutMix of a whole batch, as training and the preview of it apply them.
#pragma once

#include <cstddef>
#include <functional>

#include "base/image_size.h"
#include "data/augment/mixup.h"
#include "data/batch.h"
#include "train/recipe/recipe.h"

namespace cait {

// What turns a batch of float images into mixed ones and writes its targets. The mix is a function
// of the recipe's seed, the batch's place in the run and `rank` alone.
std::function<void(Batch&)> batch_mixing(const Recipe& recipe, const Mixup& mixup, ImageSize size,
                                         std::size_t rank = 0);

}  // namespace cait
