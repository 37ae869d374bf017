// The arms of a study crossed with its factors, and a run of one: what it is trained by, and the
// identity that follows from that.
#pragma once

#include <string>
#include <vector>

#include "train/sweep/runs.h"

namespace cait {

inline constexpr std::size_t kMostRuns = 100'000;

// An arm of the file crossed with the factors.
struct ExpandedArm {
    StudyArm arm;
    StudySettings varied;  // by factors
};

std::vector<ExpandedArm> expanded_arms(const SweepStudy& study);

// All combinations of the levels, the last factor fastest.
std::vector<StudySettings> combinations(const SweepStudy& study,
                                        const std::vector<StudyFactor>& factors);
std::string level_name(const StudySettings& settings);  // "depth=36,lr=0.001"

Recipe base_recipe(const SweepStudy& study);

// Throws Error that names the file, and the line or the arm. `choice` is what tuning found.
SweepRun make_run(const SweepStudy& study, const Recipe& base, const ExpandedArm& arm,
                  std::int64_t seed, const SettingList& choice, bool tuning);

// `before` has the runs that it comes after.
std::string identity_of_run(const SweepStudy& study, const SweepRun& run,
                            const std::vector<SweepRun>& before);

// Whether its settings are still to be chosen, and the point of the grid that stands for them
// until then.
bool is_tuned(const SweepStudy& study, const ExpandedArm& arm);
SettingList first_candidate(const SweepStudy& study, const ExpandedArm& arm);

}  // namespace cait
