// The one extension that a study may fix in advance (`extend = true`): a primary contrast that
// stays open although its mean reaches half of the margin gets as many seeds again, and is then
// judged at half the level, since it was looked at before.
#pragma once

#include <cstdint>
#include <vector>

#include "report/sweep_report.h"
#include "train/sweep/runs.h"

namespace cait {

struct Extension {
    std::size_t contrast = 0;         // of the study
    std::vector<std::int64_t> seeds;  // further ones
};

// `result` is judged. Empty unless the study asks for it.
std::vector<Extension> extensions_of(const SweepStudy& study, const SweepStudyResult& result);

// The runs of the study, and those of the further seeds for the arms that are compared.
std::vector<SweepRun> plan_extended(const SweepStudy& study, const TuneChoices& choices,
                                    const std::vector<Extension>& extensions);

}  // namespace cait
