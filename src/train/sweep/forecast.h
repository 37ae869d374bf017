// What a study would take: each arm trains for a moment in a scratch folder, and that is counted
// up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "train/sweep/child_run.h"

namespace cait {

struct RunForecast {
    std::optional<double> seconds;  // of training; tests come on top
    std::int64_t peak_bytes = 0;    // of memory, as far as it got
    std::string reason{};           // why there is no forecast
};

// Starts `cait train` on the arm's settings and ends it once it has logged steps twice: the first
// time has the start-up in it, the second is measured. `out` is the folder of the study.
RunForecast forecast(const SweepStudy& study, const SweepRun& run, const std::filesystem::path& out,
                     const ChildOptions& options, const std::function<int()>& stop);

}  // namespace cait
