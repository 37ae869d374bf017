// The parts of a recipe that learning beyond labels needs: their keys, and what they ask of each
// other. Called by what binds and checks the others.
#pragma once

#include "models/settings.h"
#include "train/recipe/recipe.h"

namespace cait {

// The rest of [loss], then [head], [target], [memory] and [dino].
void bind_beyond_labels(Settings& keys, Recipe& recipe);
// Of [eval]: how features are judged.
void bind_neighbours(Settings& keys, EvalPart& eval);

// Throws UsageError that names the key and the rule.
void check_beyond_labels(const Recipe& recipe);

}  // namespace cait
