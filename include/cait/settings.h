// Keys with their values as text, in the order in which they are applied: how the settings of a
// model and the keys of a recipe are given.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cait {

// {"classes", "10"}, {"image_size", "192x256"} … see docs/models.md and docs/recipes.md for the
// keys.
using SettingList = std::vector<std::pair<std::string, std::string>>;

}  // namespace cait
