// Recipes as TOML: read from a file or from those that are part of the program, and written so that
// a run can be repeated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "system/file_place.h"
#include "train/recipe/recipe.h"
#include "train/recipe/unused_keys.h"

namespace cait {

// A recipe starts from the fields' own values, or from another recipe that it names at the top as
// `base`: a file beside it, or a built-in one. Throws Error "x.toml:12: optim.lrr: unknown key; did
// you mean optim.lr?" for what does not fit; rules across fields are check()'s. `own`, if given,
// learns the keys that the file sets, but not those of what it starts from.
Recipe read_recipe(const FilePlace& place, std::vector<OwnKey>* own = nullptr);

// The recipe.toml of a run that goes on: a key that its program did not have yet gets the value
// that this program had behaved by.
Recipe read_run_recipe(const FilePlace& place);

// The same for text that is in no file; `name` opens error messages.
Recipe parse_recipe(std::string_view text, const std::string& name);

// Every key with its value and a comment; reading it gives an equal recipe. [preset] has what the
// model brings along (a program whose preset differs takes these values), [unused] what nothing
// reads as the recipe stands.
std::string recipe_text(const Recipe& recipe);

// A file where there is a '/' or the name ends in .toml, otherwise a built-in recipe. Throws
// UsageError with the nearest names when there is none.
Recipe find_recipe(const std::string& name_or_path, std::vector<OwnKey>* own = nullptr);

// The built-in ones, in alphabetical order.
std::vector<std::string> recipe_names();
// The line that says what a built-in recipe is for; throws UsageError as find_recipe does.
std::string recipe_about(const std::string& name);

}  // namespace cait
