// What a run achieved, read off its metrics.jsonl: at its final epoch, which nobody chose, and at
// the best one, which was chosen on the validation data.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cait/train.h"
#include "report/metrics_log.h"

namespace cait {

struct RunResults {
    // Of the latest validation; of a run that is over, its final epoch.
    std::optional<EpochScores> final_epoch;
    std::optional<EpochScores> final_ema;  // the same with averaged weights, where there are some
    std::optional<EpochScores> best;
};

// `by` is what save.best of the recipe names: a score, or that of averaged weights. Of equals the
// first is the best, as it is for the run that wrote the records.
RunResults run_results(std::span<const MetricsRecord> records, const std::string& by);

}  // namespace cait
