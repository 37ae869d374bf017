#include "train/sweep/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "models/settings.h"
#include "system/atomic_file.h"
#include "train/sweep/narrow.h"

namespace cait {

namespace {

// A run that is planned, with its record where there is one.
using Recorded = std::pair<SweepRun, std::optional<RunRecord>>;

std::vector<Recorded> recorded_runs(const SweepStudy& study, const SweepOptions& options,
                                    const std::vector<Extension>& extensions = {}) {
    const RecordStore store(options.out, study.name, options.records);
    const auto choices = tuned(study, tune_scores(study, store));
    std::vector<Recorded> result;
    if (!choices) {  // what is planned is known all the same
        for (SweepRun& run : plan_runs(study)) result.emplace_back(std::move(run), std::nullopt);
        return result;
    }
    const auto find = [&](const SweepRun& run) { return store.find(run); };
    for (SweepRun& run : narrowed(study, plan_extended(study, *choices, extensions), find)) {
        auto record = store.find(run);
        result.emplace_back(std::move(run), std::move(record));
    }
    return result;
}

std::string where_text(const StudyWhere& where) {
    if (where.size() == 1 && where[0].first == "arm" && where[0].second.size() == 1)
        return where[0].second[0];
    std::string text;
    for (const auto& [key, values] : where)
        for (const std::string& value : values)
            text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
    return text;
}

// Of the arms that a side means, the best one with this seed. Nothing unless all are recorded: the
// best one may still be to come.
std::optional<double> best_score(const SweepStudy& study, const std::vector<Recorded>& runs,
                                 const StudyWhere& where, const std::string& score,
                                 std::int64_t seed) {
    std::optional<double> best;
    for (const auto& [run, record] : runs) {
        if (run.seed != seed || !matches(run, where)) continue;
        if (!record) return std::nullopt;
        const auto found = score_of(study, *record, score);
        if (found && (!best || *found > *best)) best = found;
    }
    return best;
}

// The side itself, minus what it is measured from.
std::optional<double> side_score(const SweepStudy& study, const std::vector<Recorded>& runs,
                                 const StudyWhere& where, const StudyWhere& from,
                                 const std::string& score, std::int64_t seed) {
    const auto value = best_score(study, runs, where, score, seed);
    if (!value || from.empty()) return value;
    const auto base = best_score(study, runs, from, score, seed);
    return base ? std::optional(*value - *base) : std::nullopt;
}

// Nothing unless all runs of the side are recorded: the largest one may still be to come.
std::optional<double> largest_stable(const std::vector<Recorded>& runs, const StudyWhere& where,
                                     const std::string& key, std::int64_t seed) {
    std::optional<double> largest;
    for (const auto& [run, record] : runs) {
        if (run.seed != seed || !matches(run, where) || !run.chosen.contains(key)) continue;
        if (!record) return std::nullopt;
        const auto stable = record->scores.find("stable");
        if (!record->ok() || stable == record->scores.end() || stable->second == 0) continue;
        const double value = parse_number(run.chosen.at(key));
        if (!largest || value > *largest) largest = value;
    }
    return largest;
}

// Seeds that an extension added are of the contrasts that it was for, and of no others.
SweepContrastResult contrast_result(const SweepStudy& study, const StudyContrast& contrast,
                                    const std::vector<Recorded>& runs,
                                    const std::vector<std::int64_t>& seeds) {
    SweepContrastResult result;
    result.name = contrast.name;
    result.better = where_text(contrast.better);
    result.worse = where_text(contrast.worse);
    result.score = contrast.score;
    result.primary = contrast.primary;
    result.is_ratio = contrast.kind == ContrastKind::largest_stable;
    result.margin = result.is_ratio ? contrast.ratio : contrast.margin;
    if (result.is_ratio) result.score = "largest stable " + contrast.key;
    for (const std::int64_t seed : seeds) {
        const auto better = result.is_ratio
                                ? largest_stable(runs, contrast.better, contrast.key, seed)
                                : side_score(study, runs, contrast.better, contrast.better_from,
                                             contrast.score, seed);
        const auto worse = result.is_ratio
                               ? largest_stable(runs, contrast.worse, contrast.key, seed)
                               : side_score(study, runs, contrast.worse, contrast.worse_from,
                                            contrast.score, seed);
        if (!better || !worse) continue;
        result.seeds.push_back(seed);
        result.differences.push_back(result.is_ratio ? *better / *worse : *better - *worse);
    }
    return result;
}

SweepRunResult run_result(const SweepStudy& study, const SweepRun& run, const RunRecord& record) {
    SweepRunResult result;
    result.arm = run.arm;
    result.seed = run.seed;
    result.status = std::string(status_name(record.status));
    result.reason = record.reason;
    result.settings = run.chosen;
    result.settings.erase("arm");
    result.settings.erase("seed");
    result.scores = record.scores;
    if (!record.ok()) {
        result.scores[study.score] = study.chance;
        for (const StudyContrast& contrast : study.contrasts)
            if (contrast.kind == ContrastKind::paired) result.scores[contrast.score] = study.chance;
    }
    for (const CurvePoint& point : record.curve)
        result.curve.emplace_back(point.epoch, point.values);
    return result;
}

std::vector<std::int64_t> sorted_seeds(const SweepStudy& study) {
    std::vector<std::int64_t> seeds = all_seeds(study);
    std::ranges::sort(seeds);
    return seeds;
}

void add_runs(const SweepStudy& study, const std::vector<Recorded>& runs,
              SweepStudyResult& result) {
    result.planned = runs.size();
    result.runs.clear();
    for (const auto& [run, record] : runs) {
        if (std::ranges::find(result.arms, run.arm) == result.arms.end())
            result.arms.push_back(run.arm);
        if (record) result.runs.push_back(run_result(study, run, *record));
    }
}

// Whether a contrast has all of its further seeds. Before that nobody looks: it stays as it was.
bool extend_result(const SweepStudy& study, const SweepOptions& options,
                   const std::vector<Extension>& extensions, SweepStudyResult& result) {
    if (extensions.empty()) return false;
    const std::vector<Recorded> runs = recorded_runs(study, options, extensions);
    bool any = false;
    for (const Extension& extension : extensions) {
        SweepContrastResult& before = result.contrasts[extension.contrast];
        std::vector<std::int64_t> seeds = before.seeds;
        seeds.insert(seeds.end(), extension.seeds.begin(), extension.seeds.end());
        SweepContrastResult after =
            contrast_result(study, study.contrasts[extension.contrast], runs, seeds);
        if (after.seeds.size() != seeds.size()) continue;
        after.extended = any = true;
        before = std::move(after);
    }
    if (any) add_runs(study, runs, result);
    return any;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

nlohmann::ordered_json cost_json(const SweepRun& run, const RunRecord& record) {
    return {{"study", record.study},
            {"run", run.name()},
            {"started", record.started},
            {"seconds", record.seconds},
            {"processor_seconds", record.processor_seconds},
            {"processor", record.machine.processor},
            {"isa", record.machine.isa},
            {"precision", record.machine.precision},
            {"threads", record.machine.threads},
            {"jobs", record.machine.jobs},
            {"version", record.machine.version}};
}

// Without what an extension added.
std::vector<SweepStudyResult> results_as_planned(
    const std::vector<SweepStudy>& studies, const SweepOptions& options,
    const std::vector<std::vector<std::string>>& notes) {
    std::vector<SweepStudyResult> results;
    for (std::size_t i = 0; i < studies.size(); ++i) {
        const SweepStudy& study = studies[i];
        const std::vector<Recorded> runs = recorded_runs(study, options);
        SweepStudyResult result;
        result.name = study.name;
        result.title = study.title;
        result.score = study.score;
        if (i < notes.size()) result.notes = notes[i];
        add_runs(study, runs, result);
        for (const StudyContrast& contrast : study.contrasts)
            result.contrasts.push_back(contrast_result(study, contrast, runs, sorted_seeds(study)));
        results.push_back(std::move(result));
    }
    judge(results);
    return results;
}

}  // namespace

std::vector<std::vector<Extension>> planned_extensions(const std::vector<SweepStudy>& studies,
                                                       const SweepOptions& options) {
    const std::vector<SweepStudyResult> results = results_as_planned(studies, options, {});
    std::vector<std::vector<Extension>> extensions;
    for (std::size_t i = 0; i < studies.size(); ++i)
        extensions.push_back(extensions_of(studies[i], results[i]));
    return extensions;
}

std::vector<SweepStudyResult> collect_results(const std::vector<SweepStudy>& studies,
                                              const SweepOptions& options,
                                              const std::vector<std::vector<std::string>>& notes) {
    std::vector<SweepStudyResult> results = results_as_planned(studies, options, notes);
    const auto extensions = planned_extensions(studies, options);
    bool any = false;
    for (std::size_t i = 0; i < studies.size(); ++i)
        any |= extend_result(studies[i], options, extensions[i], results[i]);
    if (any) judge(results);
    return results;
}

void write_results(const std::vector<SweepStudyResult>& results,
                   const std::vector<SweepStudy>& studies, const SweepOptions& options) {
    Folder::make(options.out);
    nlohmann::ordered_json costs = nlohmann::ordered_json::array();
    const auto extensions = planned_extensions(studies, options);
    for (std::size_t i = 0; i < studies.size(); ++i)
        for (const auto& [run, record] : recorded_runs(studies[i], options, extensions[i]))
            if (record) costs.push_back(cost_json(run, *record));
    write_file(options.out / "results.json", sweep_json(results).dump(1) + "\n");
    write_file(options.out / "results.csv", sweep_csv(results));
    write_file(options.out / "results.html", sweep_html(results));
    write_file(options.out / "costs.json", costs.dump(1) + "\n");
}

}  // namespace cait
