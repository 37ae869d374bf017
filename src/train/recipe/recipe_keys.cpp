#include "train/recipe/recipe_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/suggest.h"
#include "cait/error.h"
#include "train/recipe/model_settings.h"
#include "weights/weight_file.h"

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

bool fits(const std::string& model, const std::string& key, const std::string& value) {
    try {
        return accepts_setting(model, key, value);
    } catch (const UsageError&) {
        return false;
    }
}

// Another model, with what the recipe has for it.
void name_model(Recipe& recipe, const std::string& name, std::vector<std::string>& notes) {
    if (const auto left_out = change_model(recipe, name); !left_out.empty())
        notes.push_back(fmt::format(
            "left out of the recipe, as {} does not have them or takes other values: {}", name,
            fmt::join(left_out, ", ")));
    if (const auto taken = take_model_values(recipe); !taken.empty())
        notes.push_back(fmt::format("the recipe has for {}: {}", name, fmt::join(taken, ", ")));
}

// Weights that say which model they are: that one is meant, unless another is named. The recipe's
// own settings then give way to the file's, but for what only training knows.
void take_model_of_weights(Recipe& recipe, std::vector<std::string>& notes) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(recipe.model.weights, ignored)) return;
    const auto metadata = open_weights(recipe.model.weights).metadata;
    const auto name = metadata.find("cait.model");
    if (name == metadata.end()) return;
    ModelPart& model = recipe.model;
    const bool renamed = model.name != name->second;
    if (renamed) name_model(recipe, name->second, notes);
    std::vector<std::string> gone;
    std::erase_if(model.settings, [&](const auto& setting) {
        if (setting.first.find("drop") != std::string::npos) return false;
        gone.push_back("model." + setting.first);
        return true;
    });
    if (renamed || !gone.empty())
        notes.push_back(fmt::format(
            "the model is that of {}: {}{}", model.weights, model.name,
            gone.empty() ? ""
                         : fmt::format(", in place of the recipe's {}", fmt::join(gone, ", "))));
}

bool sets(const SettingList& values, std::string_view key) {
    return std::ranges::find(values, key, &SettingList::value_type::first) != values.end();
}

std::string setting_of(const Recipe& recipe, std::string_view key) {
    for (const auto& [name, value] : model_settings(recipe.model.name, recipe.model.settings))
        if (name == key) return value;
    return {};
}

// The rule of CaiT's paper for the start of the branch weights.
std::string start_by_depth(Recipe recipe) {
    set_recipe_value(recipe, "model.residual_init", "auto");
    return setting_of(recipe, "residual_init");
}

// Where the branch weights start depends on the depth; a value of the recipe's own stays, which may
// be wrong for the new depth.
void follow_depth(const Recipe& recipe, const Recipe& before, const SettingList& values,
                  std::vector<std::string>& notes) {
    if (!sets(values, "model.depth") || sets(values, "model.residual_init")) return;
    const std::string kind = setting_of(recipe, "residual");
    if (kind.empty() || kind == "none" || !recipe.model.weights.empty()) return;
    const std::string old_start = setting_of(before, "residual_init");
    const std::string start = setting_of(recipe, "residual_init");
    const std::string rule = start_by_depth(recipe), depth = setting_of(recipe, "depth");
    if (start != old_start)
        notes.push_back(fmt::format("with model.depth {}: model.residual_init {} -> {}", depth,
                                    old_start, start));
    else if (start != rule && start_by_depth(before) != rule)
        notes.push_back(
            fmt::format("model.residual_init stays {}; the rule for model.depth {} is {}: --set "
                        "model.residual_init=auto",
                        start, depth, rule));
}

// A head for tokens learns from loss.name token_label alone, but takes part in the evaluation.
void drop_token_head(Recipe& recipe, const SettingList& values, std::vector<std::string>& notes) {
    if (recipe.loss.name == "token_label" || sets(values, "model.aux_head")) return;
    if (setting_of(recipe, "aux_head") != "true") return;
    set_recipe_value(recipe, "model.aux_head", "false");
    notes.push_back(fmt::format(
        "model.aux_head true -> false: it learns from loss.name token_label alone, found {}",
        recipe.loss.name));
}

// Fewer epochs than the warm-up leaves room for: it keeps its share of the run.
void shorten_warmup(Recipe& recipe, const Recipe& before, const SettingList& values,
                    std::vector<std::string>& notes) {
    SchedulePart& schedule = recipe.schedule;
    if (schedule.warmup_steps > 0 || schedule.warmup <= schedule.epochs / 2 ||
        sets(values, "schedule.warmup"))
        return;
    if (schedule.epochs >= before.schedule.epochs) return;
    const double old = schedule.warmup;
    schedule.warmup = before.schedule.warmup / before.schedule.epochs * schedule.epochs;
    notes.push_back(fmt::format("schedule.warmup {:g} -> {:.3g}, to fit schedule.epochs {:g}", old,
                                schedule.warmup, schedule.epochs));
}

}  // namespace

bool ModelPart::operator==(const ModelPart& other) const {
    const auto sorted = [](SettingList list) {
        std::ranges::sort(list);
        return list;
    };
    return std::tie(name, weights, weights_epoch, prefer_ema, scales, expects_weights) ==
               std::tie(other.name, other.weights, other.weights_epoch, other.prefer_ema,
                        other.scales, other.expects_weights) &&
           sorted(settings) == sorted(other.settings);
}

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
        if (std::ranges::find(known, setting.first, &SettingList::value_type::first) !=
                known.end() &&
            fits(name, setting.first, setting.second))
            return false;
        left_out.push_back("model." + setting.first);
        return true;
    });
    return left_out;
}

std::vector<std::string> take_model_values(Recipe& recipe) {
    std::vector<ModelValues> fitting;
    std::ranges::copy_if(recipe.for_models, std::back_inserter(fitting), [&](const auto& one) {
        return recipe.model.name.starts_with(one.models);
    });
    std::ranges::stable_sort(fitting, {}, [](const auto& one) { return one.models.size(); });
    SettingList values;
    for (const ModelValues& one : fitting)
        for (const auto& value : one.values) {
            std::erase_if(values, [&](const auto& known) { return known.first == value.first; });
            values.push_back(value);
        }
    std::vector<std::string> taken;
    for (const auto& [key, value] : values) {
        set_recipe_value(recipe, key, value);
        taken.push_back(fmt::format("{} {}", key, value));
    }
    return taken;
}

std::string keep_jitter_off(Recipe& recipe, const Recipe& before) {
    const auto has_effect = [](const AugmentPart& a) {
        return ColourJitter::parse(a.jitter).active() &&
               (a.force_jitter || keeps_jitter(parse_policy(a.policy)));
    };
    AugmentPart& a = recipe.augment;
    if (a.jitter != before.augment.jitter || !ColourJitter::parse(a.jitter).active()) return {};
    const bool had = has_effect(before.augment), has = has_effect(a);
    if (had == has) return {};
    const std::string jitter = a.jitter;
    if (!has) return fmt::format("augment.policy {} replaces augment.jitter {}", a.policy, jitter);
    a.jitter = "0";
    return fmt::format(
        "augment.jitter stays off: {0} had no effect alongside augment.policy {1}; --set "
        "augment.jitter={0} switches it on",
        jitter, before.augment.policy);
}

std::vector<std::string> set_recipe_values(Recipe& recipe, const SettingList& values) {
    std::vector<std::string> notes;
    const auto name = std::find_if(values.rbegin(), values.rend(),
                                   [](const auto& value) { return value.first == "model.name"; });
    if (name != values.rend()) name_model(recipe, name->second, notes);
    const auto weights = std::find_if(values.rbegin(), values.rend(), [](const auto& value) {
        return value.first == "model.weights";
    });
    if (weights != values.rend()) {
        set_recipe_value(recipe, "model.weights", weights->second);
        if (name == values.rend()) take_model_of_weights(recipe, notes);
    }
    const Recipe before = recipe;  // the model's own rate is no change of it
    for (const auto& [key, value] : values)
        if (key != "model.name") set_recipe_value(recipe, key, value);
    if (name != values.rend() || weights != values.rend()) drop_token_head(recipe, values, notes);
    follow_depth(recipe, before, values, notes);
    shorten_warmup(recipe, before, values, notes);
    if (sets(values, "augment.policy") && !sets(values, "augment.jitter"))
        if (std::string note = keep_jitter_off(recipe, before); !note.empty())
            notes.push_back(std::move(note));
    return notes;
}

}  // namespace cait
