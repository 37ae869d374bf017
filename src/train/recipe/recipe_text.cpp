// Writing a recipe: complete, in the order of the keys, with what each key is for.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "train/recipe/model_settings.h"
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

std::string comment(const std::string& help, const std::string& expected) {
    const bool says_more = !expected.empty() && expected != "text";
    return fmt::format("# {}{}\n", help, says_more ? fmt::format(" ({})", expected) : "");
}

using UnusedLines = std::map<std::string, std::string>;  // when something would read a key, by key

std::string settings_text(const ModelPart& model, const UnusedLines& unused) {
    std::string text;
    for (const auto& [name, value] : model.settings)
        if (!unused.contains("model." + name))
            text += fmt::format("{} = {}\n", name, toml_literal(value));
    return text.empty() ? text : "# settings of the model itself\n" + text;
}

// How many classes there are is for the data to say. Weights bring their own settings, which a run
// adds to its recipe.
std::string preset_text(const ModelPart& model) {
    if (!model.weights.empty()) return {};
    std::string text;
    for (const SettingFacts& facts : model_setting_facts(model.name, model.settings)) {
        const bool given =
            std::ranges::find(model.settings, facts.name, &SettingList::value_type::first) !=
            model.settings.end();
        if (given || !facts.unread.empty() || facts.name == "classes") continue;
        text += comment(facts.help, facts.expected);
        text += fmt::format("{} = {}\n", facts.name, toml_literal(facts.value));
    }
    return text.empty() ? text : fmt::format("\n[preset]  # {}\n", model.name) + text;
}

// Values that nothing reads as the recipe stands and that are not the standard ones anyway.
UnusedLines unused_of(const Recipe& recipe) {
    Recipe copy = recipe, bare;
    Settings keys, standard;
    bind(keys, copy);
    bind(standard, bare);
    UnusedLines unused;
    for (const UnusedKey& one : unused_keys(recipe)) unused.emplace(one.key, one.when);
    for (std::size_t i = 0; i < keys.keys().size(); ++i)
        if (keys.keys()[i].get() == standard.keys()[i].get()) unused.erase(keys.keys()[i].name);
    return unused;
}

std::string unused_text(const Recipe& recipe, const Settings& keys, const UnusedLines& unused) {
    std::string text;
    const auto add = [&](const std::string& name, const std::string& value) {
        text += fmt::format("# read only with {}\n{} = {}\n", unused.at(name), name, value);
    };
    for (const auto& [name, value] : recipe.model.settings)
        if (unused.contains("model." + name)) add("model." + name, toml_literal(value));
    for (const Settings::Key& key : keys.keys())
        if (unused.contains(key.name)) add(key.name, literal(key.kind, key.get()));
    return text.empty() ? text : "\n[unused]\n" + text;
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
    const UnusedLines unused = unused_of(recipe);
    std::string text;
    std::string table;
    for (const Settings::Key& key : keys.keys()) {
        if (unused.contains(key.name)) continue;
        const std::size_t dot = key.name.find('.');
        const std::string own = dot == std::string::npos ? "" : key.name.substr(0, dot);
        if (own != table) {
            if (table == "model")
                text += settings_text(recipe.model, unused) + preset_text(recipe.model);
            text += fmt::format("\n[{}]\n", own);
            table = own;
        }
        text += comment(key.help, key.expected);
        text += fmt::format("{} = {}\n", key.name.substr(own.empty() ? 0 : dot + 1),
                            literal(key.kind, key.get()));
    }
    return text + unused_text(recipe, keys, unused) + for_models_text(recipe, keys);
}

}  // namespace cait
