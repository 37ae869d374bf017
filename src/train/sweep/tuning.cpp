// Which runs tune the arms of a study, and what they found best.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "cait/error.h"
#include "train/sweep/arms.h"

namespace cait {

namespace {

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

bool is_tuned(const SweepStudy& study, const ExpandedArm& arm) {
    if (!study.tune) return false;
    if (!arm.arm.tune.empty()) return true;
    if (study.tune->factors.empty()) return false;
    return study.tune->arms.empty() ||
           std::ranges::find(study.tune->arms, arm.arm.name) != study.tune->arms.end();
}

SettingList first_candidate(const SweepStudy& study, const ExpandedArm& arm) {
    return as_list(candidates(study, arm).front());
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
