#include "recipe/recipe_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cait/error.h"
#include "core/suggest.h"
#include "recipe/model_settings.h"

namespace cait {

namespace {

const Settings::Key* find(const Settings& keys, const std::string& name) {
    const auto found = std::ranges::find(keys.keys(), name, &Settings::Key::name);
    return found == keys.keys().end() ? nullptr : &*found;
}

void set_named(const Settings::Key& key, const std::string& name, const std::string& value) {
    try {
        key.set(value);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}: {}", name, error.what()));
    }
}

// False when no model has such a key.
bool set_model_setting(ModelPart& model, const std::string& key, const std::string& value) {
    if (!accepts_setting(model.name, key, value)) return false;
    const auto given = std::ranges::find(model.settings, key, &SettingList::value_type::first);
    if (given != model.settings.end())
        given->second = value;
    else
        model.settings.emplace_back(key, value);
    return true;
}

}  // namespace

std::vector<RecipeKey> recipe_keys() {
    Recipe recipe;
    Settings keys;
    bind(keys, recipe);
    std::vector<RecipeKey> result;
    for (const Settings::Key& key : keys.keys())
        result.push_back({key.name, key.expected, key.get(), key.help});
    return result;
}

std::string nearest_key_hint(const Recipe& recipe, const std::string& key) {
    std::vector<std::string> names;
    for (const RecipeKey& known : recipe_keys()) names.push_back(known.name);
    for (const auto& [name, value] : model_settings(recipe.model.name))
        names.push_back("model." + name);
    // "lr" and "train.lr" are more likely optim.lr than what has the fewest letters to change.
    const std::string last = "." + key.substr(key.rfind('.') + 1);
    std::vector<std::string> alike;
    std::ranges::copy_if(names, std::back_inserter(alike),
                         [&](const std::string& name) { return name.ends_with(last); });
    return fmt::format("; did you mean {}?",
                       nearest_names(key, alike.empty() ? names : alike, 1).front());
}

void set_recipe_value(Recipe& recipe, const std::string& key, const std::string& value) {
    constexpr std::string_view kModel = "model.";
    Settings keys;
    bind(keys, recipe);
    if (const Settings::Key* known = find(keys, key)) return set_named(*known, key, value);
    if (key.starts_with(kModel) &&
        set_model_setting(recipe.model, key.substr(kModel.size()), value))
        return;
    throw UsageError(fmt::format("{}: unknown key{}", key, nearest_key_hint(recipe, key)));
}

std::vector<std::string> change_model(Recipe& recipe, const std::string& name) {
    set_recipe_value(recipe, "model.name", name);
    const SettingList known = model_settings(name);
    std::vector<std::string> left_out;
    std::erase_if(recipe.model.settings, [&](const auto& setting) {
        if (std::ranges::find(known, setting.first, &SettingList::value_type::first) != known.end())
            return false;
        left_out.push_back("model." + setting.first);
        return true;
    });
    return left_out;
}

std::vector<std::string> set_recipe_values(Recipe& recipe, const SettingList& values) {
    std::vector<std::string> left_out;
    const auto name = std::find_if(values.rbegin(), values.rend(),
                                   [](const auto& value) { return value.first == "model.name"; });
    if (name != values.rend()) left_out = change_model(recipe, name->second);
    for (const auto& [key, value] : values)
        if (key != "model.name") set_recipe_value(recipe, key, value);
    return left_out;
}

}  // namespace cait
