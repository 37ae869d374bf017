// Every field of a recipe by its key, "optim.lr": one table gives `--set KEY=VALUE`, what a file
// may say, its comments and the documentation.
#pragma once

#include <string>
#include <vector>

#include "models/settings.h"
#include "train/recipe/recipe.h"

namespace cait {

struct RecipeKey {
    std::string name;            // "optim.lr"
    std::string expected;        // "1e-12 to 1000"; the words of a choice
    std::string standard_value;  // where nothing is said
    std::string help;
};

// In the order in which a file has them; the settings of the model itself are not among them.
std::vector<RecipeKey> recipe_keys();

// Binds all keys to the fields of `recipe`, which has to outlive `keys`.
void bind(Settings& keys, Recipe& recipe);

// "optim.lr" to the text of a value. Throws UsageError that names the key, what is expected and
// what was found; for an unknown key, the nearest one. A setting of another family than the
// recipe's model is taken: the name may yet change, and check() looks at both.
void set_recipe_value(Recipe& recipe, const std::string& key, const std::string& value);

// Sets model.name. The recipe's settings that the new model does not have (class_layers, for a
// DeiT), or whose values are not for it (heads 4, for the four stages of a VOLO), go; their keys
// are returned, so that they can be reported.
std::vector<std::string> change_model(Recipe& recipe, const std::string& name);

// Takes what the recipe has for its model (Recipe::for_models), shorter names first. Returns what
// it took, "model.drop_path 0.4".
std::vector<std::string> take_model_values(Recipe& recipe);

// Key after key, the model's name first: it decides which of the recipe's own settings still mean
// something, and brings what the recipe has for it. What hangs on a value that is set goes with it,
// unless it is set too: the start of the residual branches with the depth, the warm-up with a
// number of epochs that it does not fit. Returns a line for people about everything that changed
// beside the values.
std::vector<std::string> set_recipe_values(Recipe& recipe, const SettingList& values);

// A policy may replace the colour jitter. Where another policy than that of `before` would wake a
// jitter that had no effect, it is switched off. Returns a line for people; empty: nothing changed.
std::string keep_jitter_off(Recipe& recipe, const Recipe& before);

// The ranges of all fields and the rules across them. Throws UsageError that names the key and the
// rule. What only the data can tell is not looked at.
void check(const Recipe& recipe);

// "; did you mean optim.lr?" for a key that does not exist.
std::string nearest_key_hint(const Recipe& recipe, const std::string& key);

}  // namespace cait
