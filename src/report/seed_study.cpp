#include "report/seed_study.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "evaluate/scores.h"
#include "report/run_results.h"

namespace cait {

namespace {

using OrderedJson = nlohmann::ordered_json;

SeedResults::Row row_of(const Score& score, const std::vector<EpochScores>& runs) {
    std::vector<double> values;
    for (const EpochScores& run : runs) {
        const Score* own = find_score(run.scores, score.name);
        values.push_back(own == nullptr ? std::nan("") : own->value);
    }
    SeedResults::Row row{score, spread_of(values)};
    row.score.value = row.spread.mean;
    return row;
}

// Nothing where a run lacks it.
void add(std::string test, const std::vector<std::optional<EpochScores>>& found,
         std::vector<SeedResults>& results) {
    if (found.empty() || std::ranges::any_of(found, [](const auto& one) { return !one; })) return;
    SeedResults all{.test = std::move(test)};
    for (const auto& one : found) all.of_runs.push_back(*one);
    for (const Score& score : main_scores(all.of_runs[0].scores))
        all.rows.push_back(row_of(score, all.of_runs));
    results.push_back(std::move(all));
}

std::optional<EpochScores> on_test(const SeedRun& run, const std::string& name) {
    for (const auto& [test, scores] : run.tests)
        if (test == name) return scores;
    return std::nullopt;
}

OrderedJson spread_json(const Spread& spread) {
    return {{"mean", spread.mean},
            {"std", spread.deviation ? OrderedJson(*spread.deviation) : OrderedJson()},
            {"min", spread.least},
            {"max", spread.most},
            {"count", spread.count}};
}

OrderedJson scores_json(const EpochScores& scores) {
    OrderedJson json = OrderedJson::object();
    json["epoch"] = scores.epoch;
    for (const Score& score : main_scores(scores.scores)) json[score.name] = score.value;
    return json;
}

}  // namespace

std::vector<SeedResults> seed_results(const SeedStudy& study) {
    std::vector<std::optional<EpochScores>> finals, averaged;
    for (const SeedRun& run : study.runs) {
        const RunResults found = run_results(run.records, "");
        finals.push_back(found.final_epoch);
        averaged.push_back(found.final_ema);
    }
    std::vector<SeedResults> results;
    add(study.validation, finals, results);
    add(study.validation + ", averaged weights", averaged, results);
    if (study.runs.empty()) return results;
    for (const auto& [name, scores] : study.runs.front().tests) {
        std::vector<std::optional<EpochScores>> found;
        for (const SeedRun& run : study.runs) found.push_back(on_test(run, name));
        add(name, found, results);
    }
    return results;
}

Score leading_score(const SeedStudy& study) {
    for (const SeedRun& run : study.runs)
        if (const RunResults found = run_results(run.records, ""); found.final_epoch)
            return found.final_epoch->scores.front();
    return known_scores().front();
}

std::vector<std::pair<double, Spread>> seed_epochs(const SeedStudy& study) {
    const std::string name = leading_score(study).name;
    std::map<double, std::vector<double>> by_epoch;
    for (const SeedRun& run : study.runs)
        for (const MetricsRecord& record : run.records)
            if (const auto found = record.values.find(name);
                record.kind == "val" && found != record.values.end())
                by_epoch[record.epoch].push_back(found->second);
    std::vector<std::pair<double, Spread>> spreads;
    for (const auto& [epoch, values] : by_epoch)
        if (values.size() == study.runs.size()) spreads.emplace_back(epoch, spread_of(values));
    return spreads;
}

OrderedJson seeds_json(const SeedStudy& study) {
    const std::vector<SeedResults> results = seed_results(study);
    OrderedJson runs = OrderedJson::array(), tests = OrderedJson::array(),
                epochs = OrderedJson::array();
    for (std::size_t i = 0; i < study.runs.size(); ++i) {
        OrderedJson of_tests = OrderedJson::object();
        for (const SeedResults& result : results)
            of_tests[result.test] = scores_json(result.of_runs[i]);
        runs.push_back(
            {{"seed", study.runs[i].seed}, {"folder", study.runs[i].folder}, {"tests", of_tests}});
    }
    for (const SeedResults& result : results) {
        OrderedJson test = OrderedJson::object();
        test["test"] = result.test;
        for (const SeedResults::Row& row : result.rows)
            test[row.score.name] = spread_json(row.spread);
        tests.push_back(std::move(test));
    }
    for (const auto& [epoch, spread] : seed_epochs(study))
        epochs.push_back({{"epoch", epoch}, {leading_score(study).name, spread_json(spread)}});
    return {{"requested", study.requested},
            {"at", "final epoch"},
            {"ddof", 1},
            {"tests", tests},
            {"runs", runs},
            {"epochs", epochs},
            {"notes", study.notes}};
}

}  // namespace cait
