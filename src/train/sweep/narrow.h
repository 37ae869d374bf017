// A study may draw the whole map of a setting with one seed, and run further seeds only where they
// decide something: at each arm's best value and its neighbours, and where runs stop being stable.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "train/sweep/record.h"
#include "train/sweep/runs.h"

namespace cait {

// Of `runs`, those that the records ask for so far: all of the seed of the map; of the others, once
// an arm's map is complete, the best value by top-1 and its neighbours and, for contrasts of
// largest stable values, the largest stable one and its neighbours, and on from there until a
// seed's own largest stable value is known. All of them where the study has no [narrow].
std::vector<SweepRun> narrowed(
    const SweepStudy& study, std::vector<SweepRun> runs,
    const std::function<std::optional<RunRecord>(const SweepRun&)>& find);

}  // namespace cait
