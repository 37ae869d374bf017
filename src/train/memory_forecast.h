// How much memory a run will take, before it starts: measured on a few empty images, or on pairs of
// empty sentences as long as those of the longest batch, rather than computed, so that it holds for
// every model, loss and precision.
#pragma once

#include <cstdint>
#include <optional>

#include "base/text_size.h"
#include "cait/model.h"
#include "train/recipe/recipe.h"
#include "train/training_step.h"

namespace cait {

struct MemoryForecast {
    std::int64_t fixed = 0;       // bytes of this process whatever the batch
    std::int64_t per_sample = 0;  // of the images or pairs that go through the network at once
    std::int64_t loader = 0;      // batches that are being prepared
    std::int64_t validation = 0;  // beside `fixed`

    // The peak with this many images or pairs at once.
    std::int64_t peak(std::int64_t samples) const;
};

// What one image, or one pair of the longest batch, costs in a forward pass.
struct SampleCost {
    std::int64_t macs = 0;
    std::int64_t validation_bytes = 0;  // all that a validation has of it in memory at once
};

// `longest`: of sentences.
SampleCost sample_cost(const Model& model, const std::optional<TextSize>& longest);

// `batch` images or pairs of a step and `val_batch` of a validation in this process (0: none).
// Takes about as long as a step with a few of them.
MemoryForecast forecast_memory(TrainingStep& step, const SampleCost& cost, std::int64_t batch,
                               std::int64_t val_batch);

// What this process may take: its share of what the machine and the container have left.
std::int64_t memory_budget(int processes_here);

// The fewest parts of `batch` samples whose peak is within the budget; 0 when not even one sample
// at a time is. With `equal` the parts are, which is what images need that are mixed in pairs.
std::int64_t parts_within(const MemoryForecast& forecast, std::int64_t batch, std::int64_t budget,
                          bool equal = true);

}  // namespace cait
