// Mixup and CutMix of a whole batch, as training and the preview of it apply them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/image_size.h"
#include "data/augment/mixup.h"
#include "data/batch.h"
#include "data/deal.h"
#include "train/recipe/recipe.h"

namespace cait {

// How images are dealt to the processes: pairs stay together where the recipe mixes them.
Deal deal_of(const Recipe& recipe, std::size_t rank, std::size_t world);

// How the images of a batch are mixed; no draws once the recipe has switched mixing off. A function
// of the recipe's seed and the place of the batch in the run, drawn for the batch that all
// processes share: `deal` says which of its images are in this one.
std::function<std::vector<MixDraw>(const Batch&)> batch_mixing(const Recipe& recipe,
                                                               const Mixup& mixup, ImageSize size,
                                                               const Deal& deal = {});

}  // namespace cait
