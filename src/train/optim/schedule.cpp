#include "train/optim/schedule.h"

#include <fmt/format.h>

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

void check(const char* key, double value, bool allow_zero) {
    if (!std::isfinite(value) || value < 0 || (value == 0 && !allow_zero))
        throw UsageError(fmt::format("schedule.{}: expected a finite number {} 0, found {}", key,
                                     allow_zero ? "from" : "above", value));
}

}  // namespace

double scaled_lr(const OptimPart& optim, std::int64_t batch) {
    if (optim.lr_batch == 0) return optim.lr;
    return optim.lr * double(batch) / double(optim.lr_batch);
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

std::int64_t total_steps(const SchedulePart& schedule, std::int64_t steps_per_epoch) {
    return std::llround(total_epochs(schedule) * double(steps_per_epoch));
}

void check_schedule(const SchedulePart& schedule) {
    check("epochs", schedule.epochs, false);
    check("warmup", schedule.warmup, true);
    check("warmup_lr", schedule.warmup_lr, true);
    check("min_lr", schedule.min_lr, true);
    check("cooldown", schedule.cooldown, true);
    check("step_every", schedule.step_every, false);
    check("step_factor", schedule.step_factor, false);
}

}  // namespace cait
