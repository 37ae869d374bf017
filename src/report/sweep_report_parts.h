// What the texts and the page of a sweep have in common.
#pragma once

#include <string>
#include <vector>

#include "report/sweep_report.h"

namespace cait {

bool is_fraction(const std::string& score);  // shown in per cent
std::string score_title(const std::string& score);  // "top-1" of "top1", "a.top1" of itself
std::vector<double> scores_of_arm(const SweepStudyResult& study, const std::string& arm,
                                  const std::string& score);
std::size_t failed_of_arm(const SweepStudyResult& study, const std::string& arm);
std::string mean_text(const MeanInterval& interval, bool fraction);  // "45.20 ± 1.10"
// "+8.10 [+6.00, +10.20]", of ratios "2, 4, 2".
std::string contrast_mean_text(const SweepContrastResult& contrast);

}  // namespace cait
