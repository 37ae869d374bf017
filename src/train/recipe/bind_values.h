// Keys of a recipe whose values are more than a number or a word, for the tables of its parts.
#pragma once

#include <string>
#include <string_view>

#include "models/settings.h"
#include "train/recipe/recipe.h"

namespace cait {

// A text, which is UTF-8 as the TOML of recipes is.
void bind_text(Settings& settings, std::string name, std::string& field, std::string help);
// "0.08,1"; a TOML file may also say [0.08, 1]. Above 0, up to `most`.
void bind_interval(Settings& settings, std::string name, Interval& field, double most,
                   std::string help);
// "480,512,800", rising, or what `none` says for an empty list; a TOML file may also say
// [480, 512, 800]. Each from `least` to `most`.
void bind_list(Settings& settings, std::string name, std::vector<std::int64_t>& field,
               std::int64_t least, std::int64_t most, std::string none, std::string help);
void bind_list(Settings& settings, std::string name, std::vector<double>& field, double least,
               double most, std::string none, std::string help);
void bind_filter(Settings& settings, std::string name, Filter& field);
void bind_jitter(Settings& settings, std::string name, std::string& field);

// The part [views]; recipe_views.cpp.
void bind_views(Settings& settings, ViewsPart& part);

// Which values of other keys a key needs in order to be read; recipe_readers.cpp. After all are
// bound; `recipe` is the one that they are bound to.
void bind_readers(Settings& settings, const Recipe& recipe);

// Throws UsageError, "KEY: expected EXPECTED", unless it holds.
void require(bool holds, std::string_view key, const std::string& expected);

}  // namespace cait
