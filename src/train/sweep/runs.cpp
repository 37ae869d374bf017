#include "train/sweep/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "base/suggest.h"
#include "cait/error.h"
#include "train/sweep/arms.h"
#include "train/sweep/teacher_weights.h"

namespace cait {

namespace {

std::vector<std::int64_t> arm_seeds(const SweepStudy& study, const StudyArm& arm) {
    return arm.seeds.empty() ? study.seeds : arm.seeds;
}

std::optional<TeacherWeights> teacher_of(const SweepStudy& study, const SweepRun& run,
                                         const std::string& key, const std::string& value) {
    try {
        return parse_teacher_weights(value);
    } catch (const Error& error) {
        throw Error(fmt::format("{}: arm {}: {}: {}", study.file, run.arm, key, error.what()));
    }
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
            auto weights = teacher_of(study, run, key, value);
            if (!weights) continue;
            weights->run = runs[require(weights->run, key)].folder();
            if (!weights->like.empty()) weights->like = runs[require(weights->like, key)].folder();
            value = weights->text();
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

// Where a study sets the key first; 0: only its tuning does.
std::int64_t line_of(const SweepStudy& study, const std::string& key) {
    std::vector<StudySettings> all{study.settings};
    for (const StudyArm& arm : study.arms) all.push_back(arm.settings);
    for (const StudyFactor& factor : study.factors)
        for (const std::string& varied : factor.keys) all.push_back({{varied, "", factor.line}});
    for (const StudySettings& settings : all) {
        const auto found = std::ranges::find(settings, key, &StudySetting::key);
        if (found != settings.end()) return found->line;
    }
    return 0;
}

// Settings are for all arms at once and factors cross everything: a key is a mistake only where no
// run that has it reads it.
void check_unused(const SweepStudy& study, const std::vector<SweepRun>& runs) {
    if (study.allow_unused) return;
    const auto reads = [](const SweepRun& run, const std::string& key) {
        return run.chosen.contains(key) &&
               std::ranges::find(run.unused, key, &UnusedKey::key) == run.unused.end();
    };
    for (const SweepRun& run : runs)
        for (const auto& [key, when] : run.unused)
            if (std::ranges::none_of(runs, [&](const SweepRun& r) { return reads(r, key); }))
                throw Error(
                    fmt::format("{}:{}: {}: has no effect in any run: it is read only with {} "
                                "(leave it out, or "
                                "set allow_unused = true)",
                                study.file, line_of(study, key), key, when));
}

}  // namespace

// Seeds in the order of the study, then those that only arms have; a seed that only an arm has,
// such as that of a teacher, goes first where others wait for it (sorted() sees to that).
std::vector<std::int64_t> all_seeds(const SweepStudy& study) {
    std::vector<std::int64_t> seeds = study.seeds;
    for (const StudyArm& arm : study.arms)
        for (const std::int64_t seed : arm.seeds)
            if (std::ranges::find(seeds, seed) == seeds.end()) seeds.push_back(seed);
    return seeds;
}

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

std::vector<SweepRun> plan_runs(const SweepStudy& study, const TuneChoices& choices,
                                const FurtherSeeds& further) {
    const Recipe base = base_recipe(study);
    const std::vector<ExpandedArm> arms = expanded_arms(study);
    if (study.tune)
        for (const std::string& name : study.tune->arms)
            if (std::ranges::none_of(arms, [&](const auto& a) { return a.arm.name == name; }))
                throw Error(fmt::format("{}: tune.arms: no arm is called '{}'", study.file,
                                        printable(name)));
    std::vector<SweepRun> runs;
    std::vector<bool> used(study.skips.size(), false);
    std::vector<std::int64_t> order = all_seeds(study);
    order.insert(order.end(), further.seeds.begin(), further.seeds.end());
    for (const std::int64_t seed : order)
        for (const ExpandedArm& arm : arms) {
            const auto seeds = arm_seeds(study, arm.arm);
            const bool is_planned = std::ranges::find(seeds, seed) != seeds.end();
            const bool is_further = std::ranges::find(further.seeds, seed) != further.seeds.end();
            if (!is_planned && !is_further) continue;
            SettingList choice;
            if (is_tuned(study, arm)) {
                const auto found = choices.find(arm.arm.name);
                choice = found != choices.end() ? found->second : first_candidate(study, arm);
            }
            SweepRun run = make_run(study, base, arm, seed, choice, false);
            if (is_further && !further.wanted(run)) continue;
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
    check_unused(study, runs);
    link_runs(study, arms, runs);
    runs = sorted(study, std::move(runs));
    check_contrasts(study, runs);
    return runs;
}

}  // namespace cait
