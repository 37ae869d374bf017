// Writing a recipe: complete, in the order of the keys, with what each key is for.
#include <fmt/format.h>

#include "recipe/recipe_file.h"
#include "recipe/recipe_keys.h"
#include "recipe/recipe_toml.h"

namespace cait {

namespace {

std::string literal(const Settings::Key& key) {
    switch (key.kind) {
        case Settings::Kind::word:
        case Settings::Kind::text: return toml_quoted(key.get());
        case Settings::Kind::list: return toml_literal(key.get());
        case Settings::Kind::integer:
        case Settings::Kind::number:
        case Settings::Kind::flag: break;
    }
    return key.get();
}

std::string comment(const Settings::Key& key) {
    const bool says_more = !key.expected.empty() && key.expected != "text";
    return fmt::format("# {}{}\n", key.help, says_more ? fmt::format(" ({})", key.expected) : "");
}

std::string settings_text(const ModelPart& model) {
    std::string text;
    for (const auto& [name, value] : model.settings)
        text += fmt::format("{} = {}\n", name, toml_literal(value));
    return text.empty() ? text : "# settings of the model itself\n" + text;
}

}  // namespace

std::string recipe_text(const Recipe& recipe) {
    Recipe copy = recipe;
    Settings keys;
    bind(keys, copy);
    std::string text;
    std::string table;
    for (const Settings::Key& key : keys.keys()) {
        const std::size_t dot = key.name.find('.');
        const std::string own = dot == std::string::npos ? "" : key.name.substr(0, dot);
        if (own != table) {
            if (table == "model") text += settings_text(recipe.model);
            text += fmt::format("\n[{}]\n", own);
            table = own;
        }
        text += comment(key);
        text += fmt::format("{} = {}\n", key.name.substr(own.empty() ? 0 : dot + 1), literal(key));
    }
    return text;
}

}  // namespace cait
