#include "report/seed_study.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/run_results.h"

namespace cait {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::vector<double> values_of(const std::vector<EpochScores>& scores, double EpochScores::*value) {
    std::vector<double> values;
    for (const EpochScores& one : scores) values.push_back(one.*value);
    return values;
}

// Nothing where a run lacks it.
void add(std::string test, const std::vector<std::optional<EpochScores>>& found,
         std::vector<SeedResults>& results) {
    if (found.empty() || std::ranges::any_of(found, [](const auto& one) { return !one; })) return;
    SeedResults all{.test = std::move(test)};
    for (const auto& one : found) all.of_runs.push_back(*one);
    all.top1 = spread_of(values_of(all.of_runs, &EpochScores::top1));
    all.top5 = spread_of(values_of(all.of_runs, &EpochScores::top5));
    all.loss = spread_of(values_of(all.of_runs, &EpochScores::loss));
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
    return {{"epoch", scores.epoch},
            {"top1", scores.top1},
            {"top5", scores.top5},
            {"loss", scores.loss}};
}

}  // namespace

std::vector<SeedResults> seed_results(const SeedStudy& study) {
    std::vector<std::optional<EpochScores>> finals, averaged;
    for (const SeedRun& run : study.runs) {
        const RunResults found = run_results(run.records, "top1");
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

std::vector<std::pair<double, Spread>> seed_epochs(const SeedStudy& study) {
    std::map<double, std::vector<double>> by_epoch;
    for (const SeedRun& run : study.runs)
        for (const MetricsRecord& record : run.records)
            if (const auto top1 = record.values.find(metric::kTop1);
                record.kind == "val" && top1 != record.values.end())
                by_epoch[record.epoch].push_back(top1->second);
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
    for (const SeedResults& result : results)
        tests.push_back({{"test", result.test},
                         {"top1", spread_json(result.top1)},
                         {"top5", spread_json(result.top5)},
                         {"loss", spread_json(result.loss)}});
    for (const auto& [epoch, spread] : seed_epochs(study))
        epochs.push_back({{"epoch", epoch}, {"top1", spread_json(spread)}});
    return {{"requested", study.requested},
            {"at", "final epoch"},
            {"ddof", 1},
            {"tests", tests},
            {"runs", runs},
            {"epochs", epochs},
            {"notes", study.notes}};
}

}  // namespace cait
