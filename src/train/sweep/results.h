// What the records of studies say, written to the folder of the sweep: results.json, results.csv
// and results.html, which depend on nothing but scores, and costs.json: where each run ran, when
// and for how long.
#pragma once

#include <string>
#include <vector>

#include "report/sweep_report.h"
#include "train/sweep/runner.h"

namespace cait {

// Of each study: the contrasts that get further seeds, by the records of the planned ones alone, so
// that another start decides the same.
std::vector<std::vector<Extension>> planned_extensions(const std::vector<SweepStudy>& studies,
                                                       const SweepOptions& options);

// `notes`: of each study. With the further seeds of a contrast once all of them are there.
std::vector<SweepStudyResult> collect_results(const std::vector<SweepStudy>& studies,
                                              const SweepOptions& options,
                                              const std::vector<std::vector<std::string>>& notes);

void write_results(const std::vector<SweepStudyResult>& results,
                   const std::vector<SweepStudy>& studies, const SweepOptions& options);

}  // namespace cait
