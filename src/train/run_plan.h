// What a run is, decided before its first step and before it writes anything: data, model, and what
// the recipe leaves to the machine and to the data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cait/train.h"
#include "train/memory_forecast.h"
#include "train/recipe/recipe.h"
#include "train/run/run_state.h"
#include "train/training_data.h"
#include "train/training_step.h"

namespace cait {

struct RunPlan {
    Recipe recipe;  // with everything decided: a run that goes on elsewhere goes on the same way
    TrainingData data;
    Model model;
    ImageSize size;
    LoaderPlace place;
    std::unique_ptr<TrainingStep> step;
    std::optional<TextSize> longest;       // sentences of a step
    std::int64_t samples = 0;              // images of a step in this process, or such sentences
    std::optional<MemoryForecast> memory;  // none on other devices than the CPU
    std::uint64_t steps_per_epoch = 0, epochs = 0;
    std::uint64_t steps = 0;  // of the whole run, whose last epoch may be cut short
    SchedulePart schedule;    // the recipe's, in epochs
    std::size_t last_batch = 0, left_out = 0;  // images of an epoch: in its last step, in none;
                                               // sentence pairs: longer than the model takes
    std::vector<std::string> notes;            // for people: what was decided and why
};

// `saved` is the state of a run that goes on, whose folder is `folder`. Called by all processes of
// the group. Throws UsageError for a recipe that does not fit the data, Error for wrong data and
// for a run that does not fit into the memory.
RunPlan plan_run(const Recipe& recipe, const std::optional<RunState>& saved,
                 const std::filesystem::path& folder, ProcessGroup& group);

// What the run is going to do, for people.
RunFacts run_facts(const RunPlan& plan, const std::filesystem::path& folder);

}  // namespace cait
