// The learning rate as a pure function of the step, so that a resumed run needs no state for it.
#pragma once

#include <cstdint>

#include "recipe/recipe.h"

namespace cait {

// The recipe's rate for this batch (images per step in all processes together).
double scaled_lr(const OptimPart& optim, std::int64_t batch);

// The schedule for this batch: where a small batch lowers the peak, the ends go down with it. (A
// batch above optim.lr_batch raises the peak alone, as the published recipes do.)
SchedulePart scaled_schedule(const SchedulePart& schedule, const OptimPart& optim,
                             std::int64_t batch);

// The rate of step 0, 1, … as timm's schedulers have it: the warm-up is linear and is part of the
// cosine's period, not added before it. With ScheduleUnit::epoch the rate of a whole epoch is that
// of its first step. (The DeiT code is one epoch late: it repeats the warm-up's first value.)
double learning_rate(const SchedulePart& schedule, double base_lr, std::int64_t steps_per_epoch,
                     std::int64_t step);

// Cool-down included.
double total_epochs(const SchedulePart& schedule);

}  // namespace cait
