// What `cait analyze` finds out about the features of models, and how it is shown.
#pragma once

#include <vector>

#include "analyze.h"

namespace cait::app {

// Throws UsageError for an option whose analysis was not asked for, Error for a place that cannot
// be written. Makes the folder of --svg.
void check_features(const AnalyzeArguments& arguments);

// The models in the order of --weights.
Study study_features(const AnalyzeArguments& arguments, const std::vector<FoundModel>& found);
void write_study(const AnalyzeArguments& arguments, const Study& study);  // --report and --svg
void print_study(const AnalyzeArguments& arguments, const Study& study);

}  // namespace cait::app
