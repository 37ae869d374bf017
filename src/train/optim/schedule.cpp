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

std::int64_t steps_in(double epochs, std::int64_t steps_per_epoch) {
    return std::int64_t(std::llround(epochs * double(steps_per_epoch)));
}

double decayed(const SchedulePart& schedule, double base_lr, double epoch) {
    switch (schedule.name) {
        case ScheduleKind::constant: return base_lr;
        case ScheduleKind::step:
            return base_lr * std::pow(schedule.step_factor,
                                      std::floor(epoch / schedule.step_every + kRounding));
        case ScheduleKind::steps: {
            const auto passed = std::ranges::count_if(
                schedule.steps_at, [epoch](double at) { return epoch + kRounding >= at; });
            return base_lr * std::pow(schedule.step_factor, double(passed));
        }
        case ScheduleKind::poly:
            return schedule.min_lr + (base_lr - schedule.min_lr) *
                                         std::pow(1 - epoch / schedule.epochs, schedule.power);
        case ScheduleKind::cosine_after_warmup: break;  // has no common period with the warm-up
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
    SchedulePart scaled = schedule;
    if (!schedule.scale_ends) return scaled;
    const double factor = std::min(1.0, scaled_lr(optim, batch) / optim.lr);
    scaled.min_lr *= factor;
    scaled.warmup_lr *= factor;
    return scaled;
}

double learning_rate(const SchedulePart& schedule, double base_lr, std::int64_t steps_per_epoch,
                     std::int64_t step) {
    if (schedule.unit == ScheduleUnit::epoch) step -= step % steps_per_epoch;
    const double epoch = double(step) / double(steps_per_epoch);
    if (epoch + kRounding >= schedule.epochs) return schedule.min_lr;
    if (schedule.name == ScheduleKind::cosine_after_warmup)
        return cosine_schedule({.start = base_lr,
                                .end = schedule.min_lr,
                                .steps = steps_in(schedule.epochs, steps_per_epoch),
                                .warmup = steps_in(schedule.warmup, steps_per_epoch),
                                .warmup_start = schedule.warmup_lr},
                               step);
    if (epoch + kRounding < schedule.warmup && schedule.name == ScheduleKind::poly) {
        const double done = epoch / schedule.warmup, start = schedule.warmup_lr / base_lr;
        return decayed(schedule, base_lr, epoch) * (start + done * (1 - start));
    }
    if (epoch + kRounding < schedule.warmup)
        return schedule.warmup_lr + epoch / schedule.warmup * (base_lr - schedule.warmup_lr);
    return decayed(schedule, base_lr, epoch);
}

double cosine_schedule(const CosineSchedule& schedule, std::int64_t step) {
    const auto& [start, end, steps, warmup, warmup_start] = schedule;
    if (step < warmup)
        return warmup == 1
                   ? warmup_start
                   : warmup_start + double(step) * ((start - warmup_start) / double(warmup - 1));
    if (step >= steps) return end;
    const double done = double(step - warmup) / double(steps - warmup);
    return end + 0.5 * (start - end) * (1 + std::cos(std::numbers::pi * done));
}

double weight_decay(const OptimPart& optim, const SchedulePart& schedule,
                    std::int64_t steps_per_epoch, std::int64_t step) {
    if (optim.weight_decay_end < 0) return optim.weight_decay;
    return cosine_schedule({.start = optim.weight_decay,
                            .end = optim.weight_decay_end,
                            .steps = steps_in(schedule.epochs, steps_per_epoch)},
                           step);
}

double target_momentum(double start, double end, const SchedulePart& schedule,
                       std::int64_t steps_per_epoch, std::int64_t step) {
    if (start == end) return start;
    return cosine_schedule(
        {.start = start, .end = end, .steps = steps_in(schedule.epochs, steps_per_epoch)}, step);
}

double teacher_temperature(double start, double end, std::int64_t warmup, std::int64_t epoch) {
    return cosine_schedule(
        {.start = end, .end = end, .steps = 1, .warmup = warmup, .warmup_start = start}, epoch);
}

SchedulePart schedule_in_epochs(const Recipe& recipe, std::int64_t steps_per_epoch) {
    SchedulePart schedule = recipe.schedule;
    const auto per_epoch = double(steps_per_epoch);
    if (recipe.train.steps > 0) schedule.epochs = double(recipe.train.steps) / per_epoch;
    if (schedule.warmup_steps > 0) schedule.warmup = double(schedule.warmup_steps) / per_epoch;
    return schedule;
}

double total_epochs(const SchedulePart& schedule) { return schedule.epochs + schedule.cooldown; }

}  // namespace cait
