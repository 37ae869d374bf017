// The same training with several seeds: what of its result is luck (Touvron's thesis, section
// 6.3.4). Runs are compared at their final epoch, never at their best: choosing an epoch would be
// as choosing a seed.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cait/train.h"
#include "report/metrics_log.h"
#include "report/report.h"
#include "report/spread.h"

namespace cait {

// A run that is finished.
struct SeedRun {
    std::int64_t seed = 0;
    std::string folder;
    std::vector<MetricsRecord> records;  // of its metrics.jsonl
    // The final weights on further test sets, by name; all runs have the same ones.
    std::vector<std::pair<std::string, EpochScores>> tests;
};

struct SeedStudy {
    std::string title;
    std::string validation;     // what the runs validate on
    std::size_t requested = 0;  // runs, of which some may be still to come
    std::vector<ReportFact> facts;
    std::vector<std::string> notes;
    std::vector<SeedRun> runs;
    std::string recipe;  // the text of recipe.toml
};

// Results of all runs on one test set at the final epoch.
struct SeedResults {
    std::string test;
    std::vector<EpochScores> of_runs = {};  // in the order of SeedStudy::runs
    struct Row {
        Score score;  // its value is the mean
        Spread spread;
    };
    std::vector<Row> rows = {};  // of the scores that all runs have
};

// The validation first, then its averaged weights where there are some, then the test sets; what
// not all runs have is left out. Empty where there is no run.
std::vector<SeedResults> seed_results(const SeedStudy& study);

// The score that charts show: the first of the validation.
Score leading_score(const SeedStudy& study);

// Its spread on validation by epochs done, where all runs have one.
std::vector<std::pair<double, Spread>> seed_epochs(const SeedStudy& study);

nlohmann::ordered_json seeds_json(const SeedStudy& study);
std::string seeds_html(const SeedStudy& study);

}  // namespace cait
