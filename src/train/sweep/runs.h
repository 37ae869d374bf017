// The runs of a study, in the order in which they are started: all arms of a seed before the next
// seed, and a teacher before its students. A run is known by its settings, not by a machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cait/settings.h"
#include "train/recipe/recipe.h"
#include "train/recipe/unused_keys.h"
#include "train/sweep/study.h"

namespace cait {

struct SweepRun {
    std::string arm;
    std::int64_t seed = 0;
    bool tuning = false;  // judged on images held out of the training images
    // For `cait train --set`, in order. Weights of another run are still "@ARM/SEED".
    SettingList words;
    std::map<std::string, std::string> chosen;    // what the study itself sets, and "arm", "seed"
    std::map<std::string, std::string> settings;  // complete: all that differs from a bare recipe
    std::vector<UnusedKey> unused;                // of `chosen`: those that nothing reads
    double epochs = 0;
    std::string identity;            // of settings, data and tests: 16 hexadecimal digits
    std::vector<std::size_t> after;  // runs whose weights it reads or whose score it needs
    std::optional<std::pair<std::size_t, StudyNeed>> need;  // of which run

    std::string name() const;    // "linear-1": of its record
    std::string folder() const;  // "linear/1": of the run below that of the study
};

// What tuning found best, per arm.
using TuneChoices = std::map<std::string, SettingList>;

// Further seeds, for those runs of any arm that `wanted` names.
struct FurtherSeeds {
    std::vector<std::int64_t> seeds{};
    std::function<bool(const SweepRun&)> wanted{};
};

// Of the study and of its arms.
std::vector<std::int64_t> all_seeds(const SweepStudy& study);

// Throws Error that names file, line and key for what contradicts itself: unknown keys and recipes,
// values out of range, keys that have no effect in any run that sets them, arms that need each
// other in a circle, contrasts and conditions that mean no arm. Of an arm that is tuned and has no
// choice yet, the first point of the grid stands for it.
std::vector<SweepRun> plan_runs(const SweepStudy& study, const TuneChoices& choices = {},
                                const FurtherSeeds& further = {});

// The runs of the tuning that can be known from the scores of those that are finished, by name: of
// successive halving, the next round too. NaN: it failed.
std::vector<SweepRun> plan_tuning(const SweepStudy& study,
                                  const std::map<std::string, double>& scores);

// The best point per arm; nothing while a run is missing or where all failed.
std::optional<TuneChoices> tuned(const SweepStudy& study,
                                 const std::map<std::string, double>& scores);

// The place in `runs` that "@ARM" or "@ARM/SEED" means for a run with this seed.
std::optional<std::size_t> find_run(const std::vector<SweepRun>& runs, const std::string& name,
                                    std::int64_t seed);

bool matches(const SweepRun& run, const StudyWhere& where);

// The recipe as a word for `cait train`: a file is looked for beside the study's.
std::string recipe_word(const SweepStudy& study);

}  // namespace cait
