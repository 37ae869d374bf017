#include "train/recipe/unused_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cait/error.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_keys.h"

namespace cait {

namespace {

// What the recipe itself makes of a setting that its model would read.
std::string unread_in_recipe(const Recipe& recipe, const SettingFacts& setting) {
    if (recipe.train.mode == "eval" && drops(setting)) return "train.mode=train";
    if (!recipe.model.weights.empty() && setting.name == "residual_init")
        return "fresh weights, without model.weights";
    return {};
}

bool is_set(const SettingList& settings, const std::string& name) {
    return std::ranges::find(settings, name, &SettingList::value_type::first) != settings.end();
}

std::map<std::string, std::string> values_of(Recipe recipe) {
    Settings keys;
    bind(keys, recipe);
    std::map<std::string, std::string> values;
    for (auto& [key, value] : keys.values()) values.emplace(key, value);
    return values;
}

}  // namespace

std::vector<UnusedKey> unused_keys(const Recipe& recipe) {
    std::vector<UnusedKey> unused;
    const auto add = [&](const std::string& key, const std::string& when) {
        if (!when.empty()) unused.push_back({key, when});
    };
    for (const SettingFacts& facts :
         model_setting_facts(recipe.model.name, recipe.model.settings)) {
        if (!is_set(recipe.model.settings, facts.name)) continue;
        const std::string when = unread_in_recipe(recipe, facts);
        add("model." + facts.name, facts.unread.empty() ? when : facts.unread);
    }
    Recipe copy = recipe;
    Settings keys;
    bind(keys, copy);
    for (const Settings::Key& key : keys.keys()) add(key.name, key.unread());
    return unused;
}

void add_own_key(std::vector<OwnKey>& keys, OwnKey key) {
    std::erase_if(keys, [&](const OwnKey& earlier) { return earlier.key == key.key; });
    keys.push_back(std::move(key));
}

std::vector<OwnKey> unused_among(const Recipe& recipe, const std::vector<OwnKey>& own) {
    const auto values = values_of(recipe), standard = values_of(Recipe{});
    std::vector<OwnKey> found;
    for (const UnusedKey& unused : unused_keys(recipe)) {
        const auto key = std::ranges::find(own, unused.key, &OwnKey::key);
        if (key == own.end()) continue;
        const auto value = values.find(unused.key);  // none: a setting of the model
        const bool harmless = value != values.end() &&
                              (value->second.empty() ||
                               (!key->place.empty() && value->second == standard.at(unused.key)));
        if (!harmless) found.push_back(*key);
    }
    return found;
}

void refuse_unused(const Recipe& recipe, const std::vector<OwnKey>& own) {
    const std::vector<UnusedKey> unused = unused_keys(recipe);
    std::vector<std::string> lines;
    for (const auto& [key, place] : unused_among(recipe, own))
        lines.push_back(fmt::format("{}{}{}: has no effect: it is read only with {}", place,
                                    place.empty() ? "" : ": ", key,
                                    std::ranges::find(unused, key, &UnusedKey::key)->when));
    if (lines.empty()) return;
    throw UsageError(fmt::format("{} (leave {} out, or add --allow-unused)", fmt::join(lines, "; "),
                                 lines.size() == 1 ? "it" : "them"));
}

void refuse_unused(const Recipe& recipe, const Recipe& file, const std::vector<OwnKey>& of_file,
                   const SettingList& words) {
    std::vector<OwnKey> own = unused_among(file, of_file);
    for (const auto& word : words) add_own_key(own, {word.first});
    refuse_unused(recipe, own);
}

}  // namespace cait
