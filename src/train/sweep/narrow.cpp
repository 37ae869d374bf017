#include "train/sweep/narrow.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "models/settings.h"
#include "train/sweep/runner.h"

namespace cait {

namespace {

using Find = std::function<std::optional<RunRecord>(const SweepRun&)>;
using Line = std::map<double, std::size_t>;  // places in the list of runs, by the value of the key

// All runs of an arm but for the key and the seed.
struct MappedArm {
    std::map<std::int64_t, Line> seeds;
    bool needs_boundary = false;  // a contrast asks for its largest stable value
};

bool asks_for_boundary(const SweepStudy& study, const SweepRun& run) {
    return std::ranges::any_of(study.contrasts, [&](const StudyContrast& contrast) {
        return contrast.kind == ContrastKind::largest_stable && contrast.key == study.narrow->key &&
               (matches(run, contrast.better) || matches(run, contrast.worse));
    });
}

std::vector<MappedArm> mapped_arms(const SweepStudy& study, const std::vector<SweepRun>& runs) {
    std::map<std::map<std::string, std::string>, MappedArm> arms;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        auto others = runs[i].chosen;
        const auto value = others.extract(study.narrow->key);
        if (value.empty()) continue;
        others.erase("arm");
        others.erase("seed");
        MappedArm& arm = arms[others];
        arm.seeds[runs[i].seed][parse_number(value.mapped())] = i;
        arm.needs_boundary |= asks_for_boundary(study, runs[i]);
    }
    std::vector<MappedArm> result;
    for (auto& [settings, arm] : arms) result.push_back(std::move(arm));
    return result;
}

void add_with_neighbours(const Line& line, Line::const_iterator at, std::set<double>& values) {
    if (at != line.begin()) values.insert(std::prev(at)->first);
    values.insert(at->first);
    if (std::next(at) != line.end()) values.insert(std::next(at)->first);
}

// What the map's seed says about the others; nothing before it is complete.
std::optional<std::set<double>> values_of_map(const SweepStudy& study, const MappedArm& arm,
                                              const std::vector<SweepRun>& runs, const Find& find) {
    const auto map = arm.seeds.find(study.narrow->seed);
    if (map == arm.seeds.end()) return std::nullopt;
    const Line& line = map->second;
    auto best = line.begin(), stable = line.begin();
    double best_score = -1;
    for (auto at = line.begin(); at != line.end(); ++at) {
        const auto record = find(runs[at->second]);
        if (!record) return std::nullopt;
        if (score_of(study, *record, "stable").value_or(0) != 0) stable = at;
        const double score = score_of(study, *record, study.score).value_or(study.chance);
        if (score <= best_score) continue;
        best = at;
        best_score = score;
    }
    std::set<double> values;
    add_with_neighbours(line, best, values);
    if (arm.needs_boundary) add_with_neighbours(line, stable, values);
    return values;
}

// Further values until one that is not stable lies above one that is.
void extend_to_boundary(const SweepStudy& study, const Line& line,
                        const std::vector<SweepRun>& runs, const Find& find,
                        std::set<double>& values) {
    const auto stable_at = [&](Line::const_iterator at) -> std::optional<bool> {
        const auto record = find(runs[at->second]);
        if (!record) return std::nullopt;
        return score_of(study, *record, "stable").value_or(0) != 0;
    };
    auto low = line.end(), high = line.end();
    bool all_known = true, any_stable = false;
    for (auto at = line.begin(); at != line.end(); ++at) {
        if (!values.contains(at->first)) continue;
        if (low == line.end()) low = at;
        high = at;
        const auto stable = stable_at(at);
        all_known &= stable.has_value();
        any_stable |= stable.value_or(false);
    }
    if (high == line.end()) return;
    while (stable_at(high).value_or(false) && std::next(high) != line.end())
        values.insert((++high)->first);
    while (all_known && !any_stable && low != line.begin()) {
        values.insert((--low)->first);
        const auto stable = stable_at(low);
        all_known = stable.has_value();
        any_stable = stable.value_or(false);
    }
}

// With the places that runs have in each other's lists put right.
std::vector<SweepRun> kept(std::vector<SweepRun> runs, std::vector<bool> keep) {
    for (std::size_t i = runs.size(); i-- > 0;)  // a run stands after those that it waits for
        if (keep[i])
            for (const std::size_t other : runs[i].after) keep[other] = true;
    std::vector<std::size_t> place(runs.size());
    std::vector<SweepRun> result;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!keep[i]) continue;
        place[i] = result.size();
        SweepRun run = std::move(runs[i]);
        for (std::size_t& other : run.after) other = place[other];
        if (run.need) run.need->first = place[run.need->first];
        result.push_back(std::move(run));
    }
    return result;
}

}  // namespace

std::vector<SweepRun> narrowed(const SweepStudy& study, std::vector<SweepRun> runs,
                               const Find& find) {
    if (!study.narrow) return runs;
    std::vector<bool> keep(runs.size(), true);
    for (const MappedArm& arm : mapped_arms(study, runs)) {
        const auto values = values_of_map(study, arm, runs, find);
        for (const auto& [seed, line] : arm.seeds) {
            if (seed == study.narrow->seed) continue;
            std::set<double> wanted = values.value_or(std::set<double>());
            if (values && arm.needs_boundary) extend_to_boundary(study, line, runs, find, wanted);
            for (const auto& [value, i] : line) keep[i] = wanted.contains(value);
        }
    }
    return kept(std::move(runs), std::move(keep));
}

}  // namespace cait
