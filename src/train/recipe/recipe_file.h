// Recipes as TOML: read from a file or from those that are part of the program, and written so that
// a run can be repeated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "system/file_place.h"
#include "train/recipe/recipe.h"

namespace cait {

// A recipe starts from the fields' own values, or from another recipe that it names at the top as
// `base`: a file beside it, or a built-in one. Throws Error "x.toml:12: optim.lrr: unknown key; did
// you mean optim.lr?" for what does not fit; rules across fields are check()'s.
Recipe read_recipe(const FilePlace& place);

// The same for text that is in no file; `name` opens error messages.
Recipe parse_recipe(std::string_view text, const std::string& name);

// Every key with its value and a comment; reading it gives an equal recipe.
std::string recipe_text(const Recipe& recipe);

// A file where there is a '/' or the name ends in .toml, otherwise a built-in recipe. Throws
// UsageError with the nearest names when there is none.
Recipe find_recipe(const std::string& name_or_path);

// The built-in ones, in alphabetical order.
std::vector<std::string> recipe_names();
// The line that says what a built-in recipe is for; throws UsageError as find_recipe does.
std::string recipe_about(const std::string& name);

}  // namespace cait
