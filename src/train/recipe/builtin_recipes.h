// The recipes that are part of the program, as the text of their files.
#pragma once

#include <span>
#include <string_view>

namespace cait {

struct BuiltinRecipe {
    std::string_view name;  // of recipes/NAME.toml
    std::string_view text;
};

std::span<const BuiltinRecipe> builtin_recipes();

}  // namespace cait
