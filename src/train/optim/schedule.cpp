#include "train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cait/error.h"

namespace cait {

namespace {

// Lengths in epochs may be fractions that no double holds; a step may not fall before a border
// that it lies on.
constexpr double kRounding = 1e-9;

double decayed(const SchedulePart& schedule, double base_lr, double epoch) {
    switch (schedule.name) {
        case ScheduleKind::constant: return base_lr;
        case ScheduleKind::step:
            return base_lr * std::pow(schedule.step_factor,
                                      std::floor(epoch / schedule.step_every + kRounding));
        case ScheduleKind::cosine:
            return schedule.min_lr + 0.5 * (base_lr - schedule.min_lr) *
                                         (1 + std::cos(std::numbers::pi * epoch / schedule.epochs));
    }
    throw UsageError("schedule.name: unknown schedule");
}

}  // namespace

double scaled_lr(const OptimPart& optim, std::int64_t batch) {
    if (optim.lr_batch == 0) return optim.lr;
    return optim.lr * double(batch) / double(optim.lr_batch);
}

SchedulePart scaled_schedule(const SchedulePart& schedule, const OptimPart& optim,
                             std::int64_t batch) {
    const double factor = std::min(1.0, scaled_lr(optim, batch) / optim.lr);
    SchedulePart scaled = schedule;
    scaled.min_lr *= factor;
    scaled.warmup_lr *= factor;
    return scaled;
}

double learning_rate(const SchedulePart& schedule, double base_lr, std::int64_t steps_per_epoch,
                     std::int64_t step) {
    double epoch = double(step) / double(steps_per_epoch);
    if (schedule.unit == ScheduleUnit::epoch) epoch = double(step / steps_per_epoch);
    if (epoch + kRounding >= schedule.epochs) return schedule.min_lr;
    if (epoch + kRounding < schedule.warmup)
        return schedule.warmup_lr + epoch / schedule.warmup * (base_lr - schedule.warmup_lr);
    return decayed(schedule, base_lr, epoch);
}

double total_epochs(const SchedulePart& schedule) { return schedule.epochs + schedule.cooldown; }

}  // namespace cait
