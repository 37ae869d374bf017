// In what two recipes differ, apart from their seed: runs of one study differ in nothing else.
#pragma once

#include <string>
#include <vector>

#include "train/recipe/recipe.h"

namespace cait {

// "optim.lr 0.001 -> 0.002" for every value that changes an outcome.
std::vector<std::string> changes_beside_seed(const Recipe& before, const Recipe& now);

}  // namespace cait
