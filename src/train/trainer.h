// The training loop: batches in, checkpoints out. Everything that decides a result is a function of
// the recipe, the data and the step, so that a run that was stopped goes on as if it had not been.
#pragma once

#include <filesystem>
#include <functional>

#include "cait/train.h"
#include "train/distributed/world.h"
#include "train/recipe/recipe.h"

namespace cait {

struct TrainOptions {
    std::filesystem::path folder;
    bool resume = false;
    // Asked after every step, and while the processes wait for each other: a signal number when the
    // run is to save and stop, else 0.
    std::function<int()> stop = [] { return 0; };
    TrainObserver observer;
};

// As the public one, with a recipe that is made already. One process of `world`, which all call
// this with the same arguments. Throws UsageError for a recipe that makes no sense, Error for data,
// disks and lost processes, Diverged.
TrainOutcome train(const Recipe& recipe, const TrainOptions& options, const WorldInfo& world = {});

}  // namespace cait
