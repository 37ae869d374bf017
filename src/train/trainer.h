// The training loop: batches in, checkpoints out. Everything that decides a result is a function of
// the recipe, the data and the step, so that a run that was stopped goes on as if it had not been.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "data/bad_images.h"
#include "recipe/recipe.h"
#include "train/world.h"

namespace cait {

struct StepReport {
    std::uint64_t epoch = 0, epochs = 0;   // counted from 0
    std::uint64_t batch = 0, batches = 0;  // done in this epoch, of how many
    double loss = 0;                       // mean over the epoch so far
    double accuracy = 0;                   // of training, over the epoch so far, 0 to 1
    double lr = 0;
    double images_per_second = 0;
    double seconds_left = 0;  // of the whole run
};

struct Scores {
    double top1 = 0, top5 = 0, loss = 0, ece = 0;
};

struct EpochReport {
    std::uint64_t epoch = 0, epochs = 0;
    double train_loss = 0, train_accuracy = 0, lr = 0, seconds = 0, images_per_second = 0;
    std::optional<Scores> val = {}, val_ema = {};
    bool best = false;
};

// What a run tells the outside, always from the thread that called train().
struct TrainObserver {
    std::function<void(const std::string&)> note = [](const std::string&) {};
    std::function<void(const StepReport&)> step = [](const StepReport&) {};
    std::function<void(std::size_t done, std::size_t total)> evaluating = [](std::size_t,
                                                                             std::size_t) {};
    std::function<void(const EpochReport&)> epoch = [](const EpochReport&) {};
};

struct TrainOptions {
    std::filesystem::path folder;
    bool resume = false;
    // Asked after every step: a signal number when the run is to save and stop, else 0.
    std::function<int()> stop = [] { return 0; };
    TrainObserver observer;
};

struct TrainOutcome {
    int stopped_by = 0;  // the signal, 0 when the run is complete
    std::optional<double> best;
    std::uint64_t skipped = 0;
};

// One process of `world`, which all call this with the same arguments. Throws UsageError for a
// recipe that makes no sense, Error for data, disks, divergence and lost processes.
TrainOutcome train(const Recipe& recipe, const TrainOptions& options, const WorldInfo& world = {});

}  // namespace cait
