#include "train/sweep/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <span>

#include "base/philox.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "cait/error.h"
#include "models/settings.h"
#include "system/digest.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"

namespace cait {

namespace {

constexpr std::size_t kMostRuns = 100'000;

// An arm of the file crossed with the factors.
struct ExpandedArm {
    StudyArm arm;
    StudySettings varied;  // by factors
};

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

std::string level_name(const StudySettings& settings) {
    std::string name;
    for (const StudySetting& setting : settings)
        name +=
            fmt::format("{}{}={}", name.empty() ? "" : ",", last_part(setting.key), setting.value);
    return file_name(name);
}

// All combinations of the levels, the last factor fastest.
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

Recipe base_recipe(const SweepStudy& study) {
    try {
        return find_recipe(recipe_word(study));
    } catch (const Error& error) {
        throw Error(fmt::format("{}: recipe: {}", study.file, error.what()));
    }
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
std::map<std::string, std::string> complete_settings(const SweepStudy& study, Recipe recipe) {
    recipe.data.train = study.train;
    if (!recipe.data.val.empty()) recipe.data.val = study.val;
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
    const SettingList more =
        tuning ? SettingList{{"data.train", study.fill(study.train)},
                             {"data.holdout", fmt::format("{}", study.tune->holdout)},
                             {"train.seed", std::to_string(seed)}}
               : SettingList{{"data.train", study.fill(study.train)},
                             {"data.val", study.fill(study.val)},
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
    run.settings = complete_settings(study, recipe);
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

std::vector<std::int64_t> arm_seeds(const SweepStudy& study, const StudyArm& arm) {
    return arm.seeds.empty() ? study.seeds : arm.seeds;
}

// Seeds in the order of the study, then those that only arms have; a seed that only an arm has,
// such as that of a teacher, goes first where others wait for it (sorted() sees to that).
std::vector<std::int64_t> seed_order(const SweepStudy& study,
                                     const std::vector<ExpandedArm>& arms) {
    std::vector<std::int64_t> seeds = study.seeds;
    for (const ExpandedArm& arm : arms)
        for (const std::int64_t seed : arm.arm.seeds)
            if (std::ranges::find(seeds, seed) == seeds.end()) seeds.push_back(seed);
    return seeds;
}

// Fills in `after` and `need`, which point into `runs` itself.
void link_runs(const SweepStudy& study, const std::vector<ExpandedArm>& arms,
               std::vector<SweepRun>& runs) {
    for (SweepRun& run : runs) {
        const auto require = [&](const std::string& name, const std::string& who) {
            const auto found = find_run(runs, name, run.seed);
            if (!found)
                throw Error(fmt::format("{}: arm {}: {}: no run is called '{}'", study.file,
                                        run.arm, who, printable(name)));
            run.after.push_back(*found);
            return *found;
        };
        for (auto& [key, value] : run.words) {
            if (!value.starts_with("@")) continue;
            const SweepRun& other = runs[require(value.substr(1), key)];
            value = fmt::format("@{}/{}", other.arm, other.seed);
            run.settings[key] = value;
        }
        const auto arm =
            std::ranges::find(arms, run.arm, [](const ExpandedArm& a) { return a.arm.name; });
        if (arm->arm.need) {
            const std::size_t other = require(arm->arm.need->arm, "needs");
            run.need = {other, *arm->arm.need};
        }
    }
}

// As they were, but each after those that it waits for.
std::vector<SweepRun> sorted(const SweepStudy& study, std::vector<SweepRun> runs) {
    std::vector<std::size_t> place(runs.size(), runs.size());  // new by old
    std::vector<std::size_t> order;
    while (order.size() < runs.size()) {
        const std::size_t before = order.size();
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (place[i] < runs.size()) continue;
            if (!std::ranges::all_of(runs[i].after,
                                     [&](std::size_t a) { return place[a] < runs.size(); }))
                continue;
            place[i] = order.size();
            order.push_back(i);
        }
        if (order.size() > before) continue;
        for (std::size_t i = 0; i < runs.size(); ++i)
            if (place[i] == runs.size())
                throw Error(fmt::format("{}: arm {}: waits for itself, by way of arm {}",
                                        study.file, runs[i].arm, runs[runs[i].after[0]].arm));
    }
    std::vector<SweepRun> result;
    for (const std::size_t i : order) {
        SweepRun run = runs[i];
        for (std::size_t& other : run.after) other = place[other];
        if (run.need) run.need->first = place[run.need->first];
        run.identity = identity_of_run(study, run, result);
        result.push_back(std::move(run));
    }
    return result;
}

void check_side(const SweepStudy& study, const StudyContrast& contrast, const StudyWhere& where,
                const char* side, const std::vector<SweepRun>& runs) {
    if (where.empty() ||
        std::ranges::any_of(runs, [&](const SweepRun& run) { return matches(run, where); }))
        return;
    std::set<std::string> names;
    for (const SweepRun& run : runs) names.insert(run.arm);
    const std::vector<std::string> all(names.begin(), names.end());
    const std::string hint =
        where[0].first == "arm"
            ? fmt::format(" is called '{}'; nearest: {}", printable(where[0].second[0]),
                          nearest_names(where[0].second[0], all, 1)[0])
            : fmt::format(" has {} = {} and the rest", where[0].first,
                          printable(where[0].second[0]));
    throw Error(fmt::format("{}:{}: contrast {}: {}: no arm{}", study.file, contrast.line,
                            contrast.name, side, hint));
}

void check_contrasts(const SweepStudy& study, const std::vector<SweepRun>& runs) {
    for (const StudyContrast& contrast : study.contrasts) {
        check_side(study, contrast, contrast.better, "better", runs);
        check_side(study, contrast, contrast.worse, "worse", runs);
        check_side(study, contrast, contrast.better_from, "better_from", runs);
        check_side(study, contrast, contrast.worse_from, "worse_from", runs);
        if (contrast.kind == ContrastKind::largest_stable &&
            std::ranges::none_of(
                runs, [&](const SweepRun& run) { return run.chosen.contains(contrast.key); }))
            throw Error(fmt::format("{}:{}: contrast {}: key: no arm sets '{}'", study.file,
                                    contrast.line, contrast.name, printable(contrast.key)));
    }
}

bool is_tuned(const SweepStudy& study, const ExpandedArm& arm) {
    if (!study.tune) return false;
    if (!arm.arm.tune.empty()) return true;
    if (study.tune->factors.empty()) return false;
    return study.tune->arms.empty() ||
           std::ranges::find(study.tune->arms, arm.arm.name) != study.tune->arms.end();
}

SettingList as_list(const StudySettings& settings) {
    SettingList list;
    for (const StudySetting& setting : settings) list.emplace_back(setting.key, setting.value);
    return list;
}

// The points of the grid that are tried; of a random search, in an order that only the seed knows.
std::vector<StudySettings> candidates(const SweepStudy& study, const ExpandedArm& arm) {
    std::vector<StudySettings> all =
        combinations(study, arm.arm.tune.empty() ? study.tune->factors : arm.arm.tune);
    if (study.tune->search != TuneSearch::random) return all;
    RandomStream random(std::uint64_t(study.tune->seed), "sweep tune " + arm.arm.name);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.bits() % i]);
    all.resize(std::min(all.size(), std::size_t(study.tune->tries)));
    return all;
}

constexpr int kHalvings = 2;  // rounds at a quarter, at a half and at all of the epochs

int rounds_of(const SweepStudy& study) {
    return study.tune->search == TuneSearch::halving ? kHalvings + 1 : 1;
}

// One round of one arm: the candidates that are left, with their runs.
struct TuneRound {
    std::vector<StudySettings> points;
    std::vector<SweepRun> runs;
};

TuneRound tune_round(const SweepStudy& study, const Recipe& base, const ExpandedArm& arm, int round,
                     std::vector<StudySettings> points) {
    const int rounds = rounds_of(study);
    TuneRound result{std::move(points), {}};
    for (const StudySettings& point : result.points) {
        ExpandedArm tried = arm;
        tried.arm.name = fmt::format("{}~{}", arm.arm.name, level_name(point));
        SettingList choice = as_list(point);
        SweepRun run = make_run(study, base, arm, study.tune->seed, choice, true);
        if (rounds > 1) {
            const double share = std::pow(0.5, rounds - 1 - round);
            choice.emplace_back("schedule.epochs",
                                fmt::format("{}", std::max(1.0, std::floor(run.epochs * share))));
            tried.arm.name += fmt::format("~{}", round + 1);
            run = make_run(study, base, arm, study.tune->seed, choice, true);
        }
        run.arm = tried.arm.name;
        run.chosen["arm"] = run.arm;
        run.identity = identity_of_run(study, run, {});
        result.runs.push_back(std::move(run));
    }
    return result;
}

// Best first, failed ones last, ties in the order of the file; nothing while one is missing.
std::optional<std::vector<StudySettings>> ranked(const TuneRound& round,
                                                 const std::map<std::string, double>& scores) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < round.runs.size(); ++i) {
        const auto found = scores.find(round.runs[i].name());
        if (found == scores.end()) return std::nullopt;
        const double score = found->second;
        order.emplace_back(std::isnan(score) ? -std::numeric_limits<double>::infinity() : score, i);
    }
    std::ranges::stable_sort(order, std::greater<>(), [](const auto& pair) { return pair.first; });
    std::vector<StudySettings> result;
    for (const auto& [score, i] : order)
        if (std::isfinite(score)) result.push_back(round.points[i]);
    return result;
}

// Calls use(round) for each round that is known; the best points after the last one.
template <class Use>
std::optional<std::vector<StudySettings>> walk_rounds(const SweepStudy& study, const Recipe& base,
                                                      const ExpandedArm& arm,
                                                      const std::map<std::string, double>& scores,
                                                      const Use& use) {
    std::vector<StudySettings> points = candidates(study, arm);
    for (int i = 0; i < rounds_of(study); ++i) {
        const TuneRound round = tune_round(study, base, arm, i, points);
        use(round);
        auto best = ranked(round, scores);
        if (!best) return std::nullopt;
        points = std::move(*best);
        if (i + 1 < rounds_of(study)) points.resize((points.size() + 1) / 2);
    }
    return points;
}

}  // namespace

std::string SweepRun::name() const { return fmt::format("{}-{}", arm, seed); }
std::string SweepRun::folder() const { return fmt::format("{}/{}", arm, seed); }

bool matches(const SweepRun& run, const StudyWhere& where) {
    return std::ranges::all_of(where, [&](const auto& condition) {
        const auto found = run.chosen.find(condition.first);
        return found != run.chosen.end() &&
               std::ranges::find(condition.second, found->second) != condition.second.end();
    });
}

std::optional<std::size_t> find_run(const std::vector<SweepRun>& runs, const std::string& name,
                                    std::int64_t seed) {
    std::optional<std::size_t> first, same;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].folder() == name) return i;
        if (runs[i].arm != name) continue;
        if (!first) first = i;
        if (runs[i].seed == seed) same = i;
    }
    return same ? same : first;
}

std::string recipe_word(const SweepStudy& study) {
    const bool is_file =
        study.recipe.find('/') != std::string::npos || study.recipe.ends_with(".toml");
    if (!is_file) return study.recipe;
    return (std::filesystem::path(study.file).parent_path() / study.recipe).string();
}

std::vector<SweepRun> plan_runs(const SweepStudy& study, const TuneChoices& choices) {
    const Recipe base = base_recipe(study);
    const std::vector<ExpandedArm> arms = expanded_arms(study);
    if (study.tune)
        for (const std::string& name : study.tune->arms)
            if (std::ranges::none_of(arms, [&](const auto& a) { return a.arm.name == name; }))
                throw Error(fmt::format("{}: tune.arms: no arm is called '{}'", study.file,
                                        printable(name)));
    std::vector<SweepRun> runs;
    std::vector<bool> used(study.skips.size(), false);
    for (const std::int64_t seed : seed_order(study, arms))
        for (const ExpandedArm& arm : arms) {
            const auto seeds = arm_seeds(study, arm.arm);
            if (std::ranges::find(seeds, seed) == seeds.end()) continue;
            SettingList choice;
            if (is_tuned(study, arm)) {
                const auto found = choices.find(arm.arm.name);
                choice = found != choices.end() ? found->second
                                                : as_list(candidates(study, arm).front());
            }
            SweepRun run = make_run(study, base, arm, seed, choice, false);
            bool skipped = false;
            for (std::size_t i = 0; i < study.skips.size(); ++i)
                if (matches(run, study.skips[i])) skipped = used[i] = true;
            if (!skipped) runs.push_back(std::move(run));
            if (runs.size() > kMostRuns)
                throw Error(fmt::format("{}: more than {} runs", study.file, kMostRuns));
        }
    for (std::size_t i = 0; i < used.size(); ++i)
        if (!used[i]) throw Error(fmt::format("{}: skip {}: matches no run", study.file, i + 1));
    if (runs.empty()) throw Error(fmt::format("{}: skip: leaves no run", study.file));
    link_runs(study, arms, runs);
    runs = sorted(study, std::move(runs));
    check_contrasts(study, runs);
    return runs;
}

std::vector<SweepRun> plan_tuning(const SweepStudy& study,
                                  const std::map<std::string, double>& scores) {
    std::vector<SweepRun> runs;
    if (!study.tune) return runs;
    const Recipe base = base_recipe(study);
    for (const ExpandedArm& arm : expanded_arms(study))
        if (is_tuned(study, arm))
            walk_rounds(study, base, arm, scores, [&](const TuneRound& round) {
                runs.insert(runs.end(), round.runs.begin(), round.runs.end());
            });
    return runs;
}

std::optional<TuneChoices> tuned(const SweepStudy& study,
                                 const std::map<std::string, double>& scores) {
    TuneChoices choices;
    if (!study.tune) return choices;
    const Recipe base = base_recipe(study);
    for (const ExpandedArm& arm : expanded_arms(study)) {
        if (!is_tuned(study, arm)) continue;
        const auto best = walk_rounds(study, base, arm, scores, [](const TuneRound&) {});
        if (!best || best->empty()) return std::nullopt;
        choices[arm.arm.name] = as_list(best->front());
    }
    return choices;
}

}  // namespace cait
