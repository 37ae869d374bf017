// What the records of studies say, written to the folder of the sweep: results.json, results.csv
// and results.html, which depend on nothing but scores, and costs.json: where each run ran, when
// and for how long.
#pragma once

#include <string>
#include <vector>

#include "report/sweep_report.h"
#include "train/sweep/runner.h"

namespace cait {

// `notes`: of each study.
std::vector<SweepStudyResult> collect_results(const std::vector<SweepStudy>& studies,
                                              const SweepOptions& options,
                                              const std::vector<std::vector<std::string>>& notes);

void write_results(const std::vector<SweepStudyResult>& results,
                   const std::vector<SweepStudy>& studies, const SweepOptions& options);

}  // namespace cait
