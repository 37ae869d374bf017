// What changes from step to step (learning rate, weight decay, the pace of a target network, the
// temperature of a teacher) as pure functions of the step, so that a resumed run needs no state.
#pragma once

#include <cstdint>

#include "train/recipe/recipe.h"

namespace cait {

// The recipe's rate for this batch (images per step in all processes together).
double scaled_lr(const OptimPart& optim, std::int64_t batch);

// The schedule for this batch: with schedule.scale_ends, where a small batch lowers the peak, the
// ends go down with it. (A batch above optim.lr_batch raises the peak alone, as the published
// recipes do.)
SchedulePart scaled_schedule(const SchedulePart& schedule, const OptimPart& optim,
                             std::int64_t batch);

// The rate of step 0, 1, … as timm's schedulers have it: the warm-up is linear and is part of the
// cosine's period, not added before it. With ScheduleUnit::epoch the rate of a whole epoch is that
// of its first step. (The DeiT code is one epoch late: it repeats the warm-up's first value.)
// ScheduleKind::cosine_after_warmup is cosine_schedule(). With ScheduleKind::poly the warm-up
// multiplies what the rate would be without it, from warmup_lr over the base up to 1, as in mmcv.
double learning_rate(const SchedulePart& schedule, double base_lr, std::int64_t steps_per_epoch,
                     std::int64_t step);

// DINO's cosine_scheduler: `warmup` steps that rise from `warmup_start` to `start` itself, then the
// cosine of the remaining steps from `start` towards `end`, which it would reach one step after the
// last.
struct CosineSchedule {
    double start = 0;
    double end = 0;
    std::int64_t steps = 1;
    std::int64_t warmup = 0;
    double warmup_start = 0;
};
double cosine_schedule(const CosineSchedule& schedule, std::int64_t step);

// Of the parameters that decay: optim.weight_decay, towards optim.weight_decay_end if there is one.
double weight_decay(const OptimPart& optim, const SchedulePart& schedule,
                    std::int64_t steps_per_epoch, std::int64_t step);

// How much of itself a target network keeps in a step, τ in ξ ← τξ + (1−τ)θ: from `start` along
// half a cosine towards `end`; equal ones: constant.
double target_momentum(double start, double end, const SchedulePart& schedule,
                       std::int64_t steps_per_epoch, std::int64_t step);

// DINO's teacher: from `start` to `end` in equal steps over the first `warmup` epochs, the last of
// which has `end` already; counted from epoch 0.
double teacher_temperature(double start, double end, std::int64_t warmup, std::int64_t epoch);

// The schedule of a run whose lengths may be in steps (train.steps, schedule.warmup_steps): all in
// epochs, which are then no whole numbers.
SchedulePart schedule_in_epochs(const Recipe& recipe, std::int64_t steps_per_epoch);

// Cool-down included.
double total_epochs(const SchedulePart& schedule);

}  // namespace cait
