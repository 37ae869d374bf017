// From a recipe to what the data pipeline takes.
#pragma once

#include <cstdint>

#include "data/augment/mixup.h"
#include "data/augment/train_transform.h"
#include "recipe/recipe.h"

namespace cait {

// What happens to one image. Crop "eval" is the recipe's own: whoever knows the model's has to set
// it (TrainSettings::shown). Throws UsageError that names the field when one is out of range.
TrainSettings train_settings(const Recipe& recipe, std::int64_t height, std::int64_t width,
                             const ChannelValues& mean, const ChannelValues& std);

// What happens to a batch and its labels. Switching it off at an epoch is the trainer's.
Mixup mixup_settings(const Recipe& recipe, std::int64_t classes);

}  // namespace cait
