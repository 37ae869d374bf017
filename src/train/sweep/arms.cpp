#include "train/sweep/arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "cait/error.h"
#include "models/settings.h"
#include "system/digest.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"
#include "train/recipe/unused_keys.h"

namespace cait {

namespace {

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string file_name(const std::string& text) {
    std::string name;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') ||
                           std::string_view("._+-=,~").find(c) != std::string_view::npos;
        name += plain ? c : '_';
    }
    return name;
}

// Later ones replace earlier ones in place.
StudySettings merged(const SweepStudy& study, const ExpandedArm& arm, const SettingList& choice) {
    StudySettings all;
    const auto add = [&](const StudySetting& setting) {
        const auto found = std::ranges::find(all, setting.key, &StudySetting::key);
        if (found == all.end())
            all.push_back(setting);
        else
            *found = setting;
    };
    std::ranges::for_each(study.settings, add);
    std::ranges::for_each(arm.arm.settings, add);
    std::ranges::for_each(arm.varied, add);
    for (const auto& [key, value] : choice) add({key, value, 0});
    return all;
}

// Each key by itself, so that the line of a wrong one is known.
void check_settings(const SweepStudy& study, const Recipe& base, const StudySettings& settings) {
    Recipe tried = base;
    const auto set = [&](const StudySetting& setting) {
        try {
            if (setting.key == "model.name")
                change_model(tried, setting.value);
            else
                set_recipe_value(tried, setting.key, study.fill(setting.value));
        } catch (const Error& error) {
            throw Error(fmt::format("{}:{}: {}", study.file, setting.line, error.what()));
        }
    };
    for (const StudySetting& setting : settings)
        if (setting.key == "model.name") set(setting);
    for (const StudySetting& setting : settings)
        if (setting.key != "model.name") set(setting);
}

// What the machine decides, or people read.
bool is_of_the_machine(const std::string& key) {
    static const std::set<std::string> kKeys = {"about", "train.threads", "train.memory",
                                                "train.device", "data.threads"};
    return kKeys.contains(key);
}

// Only what differs from a bare recipe: a key that a later program adds changes no identity.
std::map<std::string, std::string> complete_settings(const SweepStudy& study,
                                                     const std::string& val, Recipe recipe) {
    recipe.data.train = study.train;
    if (!recipe.data.val.empty()) recipe.data.val = val;
    Recipe bare;
    Settings keys, standard;
    bind(keys, recipe);
    bind(standard, bare);
    const SettingList values = keys.values(), usual = standard.values();
    std::map<std::string, std::string> settings;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i].second != usual[i].second && !is_of_the_machine(values[i].first))
            settings.insert(values[i]);
    for (const auto& [key, value] : recipe.model.settings) settings["model." + key] = value;
    settings["model.name"] = recipe.model.name;
    return settings;
}

}  // namespace

std::string recipe_word(const SweepStudy& study) {
    const bool is_file =
        study.recipe.find('/') != std::string::npos || study.recipe.ends_with(".toml");
    if (!is_file) return study.recipe;
    return (std::filesystem::path(study.file).parent_path() / study.recipe).string();
}

std::string level_name(const StudySettings& settings) {
    std::string name;
    for (const StudySetting& setting : settings)
        name +=
            fmt::format("{}{}={}", name.empty() ? "" : ",", last_part(setting.key), setting.value);
    return file_name(name);
}

std::vector<StudySettings> combinations(const SweepStudy& study,
                                        const std::vector<StudyFactor>& factors) {
    std::vector<StudySettings> all{{}};
    for (const StudyFactor& factor : factors) {
        std::vector<StudySettings> next;
        if (all.size() * factor.levels.size() > kMostRuns)
            throw Error(fmt::format("{}:{}: more than {} combinations", study.file, factor.line,
                                    kMostRuns));
        for (const StudySettings& before : all)
            for (const auto& level : factor.levels) {
                StudySettings settings = before;
                for (std::size_t i = 0; i < factor.keys.size(); ++i)
                    settings.push_back({factor.keys[i], level[i], factor.line});
                next.push_back(std::move(settings));
            }
        all = std::move(next);
    }
    return all;
}

std::vector<ExpandedArm> expanded_arms(const SweepStudy& study) {
    std::vector<StudyArm> named = study.arms;
    if (named.empty()) named.emplace_back();
    std::vector<ExpandedArm> arms;
    for (const StudyArm& base : named)
        for (const StudySettings& varied : combinations(study, study.factors)) {
            ExpandedArm arm{base, varied};
            const std::string levels = level_name(varied);
            arm.arm.name += (base.name.empty() || levels.empty() ? "" : ",") + levels;
            arms.push_back(std::move(arm));
        }
    std::set<std::string> names;
    for (const ExpandedArm& arm : arms)
        if (!names.insert(arm.arm.name).second)
            throw Error(fmt::format("{}: two arms are called '{}'", study.file, arm.arm.name));
    return arms;
}

Recipe base_recipe(const SweepStudy& study) {
    try {
        return find_recipe(recipe_word(study));
    } catch (const Error& error) {
        throw Error(fmt::format("{}: recipe: {}", study.file, error.what()));
    }
}

SweepRun make_run(const SweepStudy& study, const Recipe& base, const ExpandedArm& arm,
                  std::int64_t seed, const SettingList& choice, bool tuning) {
    const StudySettings settings = merged(study, arm, choice);
    SweepRun run;
    run.arm = arm.arm.name;
    run.seed = seed;
    run.tuning = tuning;
    check_settings(study, base, settings);
    Recipe recipe = base;
    SettingList templates;  // with ${NAME} in them
    for (const StudySetting& setting : settings) {
        run.words.emplace_back(setting.key, study.fill(setting.value));
        templates.emplace_back(setting.key, setting.value);
        run.chosen[setting.key] = setting.value;
    }
    run.chosen["arm"] = arm.arm.name;
    run.chosen["seed"] = std::to_string(seed);
    const std::string& val = arm.arm.val.empty() ? study.val : arm.arm.val;
    const SettingList more =
        tuning ? SettingList{{"data.train", study.fill(study.train)},
                             {"data.holdout", fmt::format("{}", study.tune->holdout)},
                             {"train.seed", std::to_string(seed)}}
               : SettingList{{"data.train", study.fill(study.train)},
                             {"data.val", study.fill(val)},
                             {"train.seed", std::to_string(seed)}};
    run.words.insert(run.words.end(), more.begin(), more.end());
    templates.insert(templates.end(), more.begin(), more.end());
    try {
        set_recipe_values(recipe, templates);
        check(recipe);
    } catch (const Error& error) {
        throw Error(fmt::format("{}: arm {}: {}", study.file, arm.arm.name, error.what()));
    }
    run.epochs = recipe.schedule.epochs + recipe.schedule.cooldown;
    run.settings = complete_settings(study, val, recipe);
    for (const UnusedKey& key : unused_keys(recipe))
        if (run.chosen.contains(key.key)) run.unused.push_back(key);
    return run;
}

std::string identity_of_run(const SweepStudy& study, const SweepRun& run,
                            const std::vector<SweepRun>& before) {
    std::string text;
    for (const auto& [key, value] : run.settings) text += fmt::format("{}={}\n", key, value);
    for (const std::size_t i : run.after) text += fmt::format("after {}\n", before[i].identity);
    if (!run.tuning) {
        text += fmt::format("test {} {}\n", study.test, study.halves);
        for (const auto& [name, words] : study.evals) {
            text += "eval " + name;
            for (const std::string& word : words) text += " " + word;
            text += "\n";
        }
    }
    Digest digest(DigestKind::sha256);
    digest.add(std::as_bytes(std::span(text)));
    return digest.hex().substr(0, 16);
}

}  // namespace cait
