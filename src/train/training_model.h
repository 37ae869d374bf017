// The model that a recipe trains.
#pragma once

#include <functional>
#include <optional>

#include "cait/model.h"
#include "data/dataset.h"
#include "train/recipe/recipe.h"

namespace cait {

// Fresh or from a file, with as many classes as the data have, which it knows by name. Throws
// UsageError where the recipe asks for something else.
Model training_model(const Recipe& recipe, const Dataset& train);

// The same for sentences of `train`, cut into pieces as `known` says (of a run that goes on), or
// else as the file that it starts from, or else by what `make` gives.
Model translation_model(const Recipe& recipe, const Dataset& train,
                        const std::optional<TextFacts>& known,
                        const std::function<TextFacts()>& make);

}  // namespace cait
