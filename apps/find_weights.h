// The files behind the weights that a recipe names: each may be a file, the folder of a run, or
// published.
#pragma once

#include <string>
#include <vector>

#include "train/recipe/recipe.h"
#include "train/recipe/unused_keys.h"
#include "weights/published/resolve_weights.h"

namespace cait::app {

// Puts files in the place of runs and of `official`, in the recipe and in the words that are to
// change it. Weights that the recipe's own file names without a model bring theirs along, as those
// of a word do. model.weights_epoch becomes the epoch that was taken. `own` are the keys of the
// file. Throws UsageError for an epoch without a run, and for two different ones.
void find_weights(Recipe& recipe, const std::vector<OwnKey>& own, SettingList& words,
                  const ResolveOptions& options);

}  // namespace cait::app
