// The model that a recipe trains.
#pragma once

#include "cait/model.h"
#include "data/dataset.h"
#include "train/recipe/recipe.h"

namespace cait {

// Fresh or from a file, with as many classes as the data have, which it knows by name. Throws
// UsageError where the recipe asks for something else.
Model training_model(const Recipe& recipe, const Dataset& train);

}  // namespace cait
