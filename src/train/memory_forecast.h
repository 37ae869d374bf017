// How much memory a run will take, before it starts: measured on a few empty images rather than
// computed, so that it holds for every model, loss and precision.
#pragma once

#include <cstdint>

#include "cait/model.h"
#include "train/recipe/recipe.h"
#include "train/training_step.h"

namespace cait {

struct MemoryForecast {
    std::int64_t fixed = 0;       // bytes of this process whatever the batch
    std::int64_t per_image = 0;   // of those that go through the network at once
    std::int64_t loader = 0;      // batches that are being prepared
    std::int64_t validation = 0;  // beside `fixed`

    // The peak with this many images at once.
    std::int64_t peak(std::int64_t images) const;
};

// `batch` images of a step and `val_batch` of a validation in this process (0: none). Takes about
// as long as a step with a few images.
MemoryForecast forecast_memory(TrainingStep& step, const Model& model, std::int64_t batch,
                               std::int64_t val_batch);

// What this process may take: its share of what the machine and the container have left.
std::int64_t memory_budget(int processes_here);

// The fewest equal parts of `batch` images whose peak is within the budget; 0 when not even one
// image at a time is.
std::int64_t parts_within(const MemoryForecast& forecast, std::int64_t batch, std::int64_t budget);

}  // namespace cait
