// Makes the objective of a recipe: the sum of the terms of its row (recipe/objective_rows.h).
#pragma once

#include <string_view>

#include "train/objectives/objective.h"

namespace cait {

// Throws UsageError where the model does not fit the recipe's loss.
std::unique_ptr<Objective> make_objective(const ObjectiveSetup& setup);

// The names of the terms that can be made.
std::vector<std::string_view> made_terms();

}  // namespace cait
