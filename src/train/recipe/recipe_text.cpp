// Writing a recipe: complete, in the order of the keys, with what each key is for.
#include <fmt/format.h>

#include <algorithm>

#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"
#include "train/recipe/recipe_toml.h"

namespace cait {

namespace {

std::string literal(Settings::Kind kind, const std::string& value) {
    switch (kind) {
        case Settings::Kind::word:
        case Settings::Kind::text: return toml_quoted(value);
        case Settings::Kind::list: return toml_literal(value);
        case Settings::Kind::integer:
        case Settings::Kind::number:
        case Settings::Kind::flag: break;
    }
    return value;
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

std::string for_models_text(const Recipe& recipe, const Settings& keys) {
    std::string text;
    for (const ModelValues& one : recipe.for_models) {
        if (text.empty()) text = "\n# in place of the above, for models whose names start so";
        text += fmt::format("\n[for.{}]\n", one.models);
        for (const auto& [name, value] : one.values) {
            const auto key = std::ranges::find(keys.keys(), name, &Settings::Key::name);
            text += fmt::format(
                "{} = {}\n", name,
                key == keys.keys().end() ? toml_literal(value) : literal(key->kind, value));
        }
    }
    return text;
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
        text += fmt::format("{} = {}\n", key.name.substr(own.empty() ? 0 : dot + 1),
                            literal(key.kind, key.get()));
    }
    return text + for_models_text(recipe, keys);
}

}  // namespace cait
