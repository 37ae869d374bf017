// What a run is made of: every value of its recipe that changes the outcome, its data, and the
// program. A state says what it was made with, and processes that train together compare theirs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/distributed/process_group.h"
#include "train/recipe/recipe.h"
#include "train/training_data.h"

namespace cait {

using RunIdentity = std::map<std::string, std::string>;  // "optim.lr" → "0.001"

RunIdentity identity_of(const Recipe& recipe);
// The number of images and classes, and digests of their names.
RunIdentity identity_of(const TrainingData& data);

// What it runs under, which changes a result by rounding, and what its images are: the number of
// processes and threads, the instruction set, and a digest of the bytes of some images of each set.
RunIdentity conditions_of(const TrainingData& data, int processes);

// "data.batch 64 -> 32" for every value that is another one, conditions aside.
std::vector<std::string> changes_between(const RunIdentity& before, const RunIdentity& now);

// A line for every condition that is another one and why it matters. What a state from before
// conditions were kept does not know is no change.
std::vector<std::string> changed_conditions(const RunIdentity& before, const RunIdentity& now);

// Called by all processes. Throws the same Error in each of them that names the first process whose
// values differ from the first's, and the values. Where files lie may differ from machine to
// machine.
void require_same(const RunIdentity& mine, ProcessGroup& group);

}  // namespace cait
