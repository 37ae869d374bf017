// What a run is made of: every value of its recipe that changes the outcome, its data, and the
// program. A state says what it was made with, and processes that train together compare theirs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "train/distributed/process_group.h"
#include "train/training_data.h"

namespace cait {

using RunIdentity = std::map<std::string, std::string>;  // "optim.lr" → "0.001"

RunIdentity identity_of(const Recipe& recipe);
// The number of images and classes, and digests of their names.
RunIdentity identity_of(const TrainingData& data);

// "data.batch 64 -> 32" for every value that is another one.
std::vector<std::string> changes_between(const RunIdentity& before, const RunIdentity& now);

// Called by all processes. Throws the same Error in each of them that names the first process whose
// values differ from the first's, and the values. Where files lie may differ from machine to
// machine.
void require_same(const RunIdentity& mine, ProcessGroup& group);

}  // namespace cait
