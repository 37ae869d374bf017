#include "train/optim/schedule.h"

#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

constexpr double kBase = 1e-3;

SchedulePart schedule(ScheduleKind kind, ScheduleUnit unit = ScheduleUnit::step) {
    SchedulePart part;
    part.name = kind;
    part.unit = unit;
    part.epochs = 10;
    part.warmup = 2;
    part.warmup_lr = 1e-4;
    part.min_lr = 1e-5;
    part.step_every = 3;
    return part;
}

TEST(Schedule, WarmsUpLinearlyAndIsThenOnTheCosineOfTheWholeRun) {
    const SchedulePart part = schedule(ScheduleKind::cosine);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 0), 1e-4);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 2), 1e-4 + 0.25 * 9e-4);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 20), 1e-5 + 0.5 * 99e-5);  // half way
    EXPECT_NEAR(learning_rate(part, kBase, 4, 8), 1e-5 + 0.5 * 99e-5 * (1 + std::cos(0.2 * M_PI)),
                1e-15);
}

TEST(Schedule, PerEpochKeepsTheRateOfTheFirstStep) {
    const SchedulePart part = schedule(ScheduleKind::cosine, ScheduleUnit::epoch);
    EXPECT_EQ(learning_rate(part, kBase, 4, 21), learning_rate(part, kBase, 4, 20));
    EXPECT_EQ(learning_rate(part, kBase, 4, 23), learning_rate(part, kBase, 4, 20));
    EXPECT_LT(learning_rate(part, kBase, 4, 24), learning_rate(part, kBase, 4, 23));
}

TEST(Schedule, StepsDownEverySoManyEpochs) {
    const SchedulePart part = schedule(ScheduleKind::step);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 7, 20), kBase);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 7, 21), 0.1 * kBase);
    EXPECT_NEAR(learning_rate(part, kBase, 7, 63), 1e-6, 1e-15);
    SchedulePart fine = part;  // 0.3 / 0.1 is a little below 3 in doubles
    fine.warmup = 0;
    fine.step_every = 0.1;
    EXPECT_NEAR(learning_rate(fine, 1, 10, 3), 1e-3, 1e-15);
}

TEST(Schedule, FallsAtCertainEpochs) {
    SchedulePart part = schedule(ScheduleKind::steps);
    part.epochs = 36;
    part.warmup = 0;
    part.steps_at = {27, 33};
    part.step_factor = 0.1;
    const auto rate = [&](std::int64_t step) { return learning_rate(part, 1e-4, 10, step); };
    EXPECT_DOUBLE_EQ(rate(0), 1e-4);
    EXPECT_DOUBLE_EQ(rate(269), 1e-4);
    EXPECT_NEAR(rate(270), 1e-5, 1e-12);
    EXPECT_NEAR(rate(329), 1e-5, 1e-12);
    EXPECT_NEAR(rate(330), 1e-6, 1e-13);
    // A warm-up in steps, from a thousandth: mmcv's linear one with ratio 0.001.
    part.warmup = 50;
    part.epochs = 360;
    part.steps_at = {270, 330};
    part.warmup_lr = 1e-7;
    for (const std::int64_t step : {0, 1, 250, 499})
        EXPECT_NEAR(rate(step), 1e-4 * (1 - (1 - double(step) / 500) * (1 - 1e-3)), 1e-15) << step;
    EXPECT_DOUBLE_EQ(rate(500), 1e-4);
    part.steps_at = {};
    EXPECT_DOUBLE_EQ(rate(3599), 1e-4);
}

TEST(Schedule, ConstantStaysAndCoolsDown) {
    SchedulePart part = schedule(ScheduleKind::constant);
    part.cooldown = 2;
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 39), kBase);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 40), 1e-5);
    EXPECT_EQ(total_epochs(part), 12);
}

TEST(Schedule, WithoutWarmupStartsAtTheBase) {
    SchedulePart part = schedule(ScheduleKind::cosine);
    part.warmup = 0;
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 0), kBase);
}

TEST(Schedule, RateGrowsWithTheBatchUnlessItStandsAlone) {
    OptimPart part;
    part.lr = 5e-4;
    EXPECT_DOUBLE_EQ(scaled_lr(part, 1024), 1e-3);
    part.lr_batch = 0;
    EXPECT_DOUBLE_EQ(scaled_lr(part, 1024), 5e-4);
}

// With 5e-4 per 512 images, 64 images learn at 6.25e-5: an end at 1e-5 would be a sixth of the peak
// instead of a fiftieth, and below 11 images above it.
TEST(Schedule, EndsGoDownWithASmallBatchIfAskedToButNotUpWithALargeOne) {
    SchedulePart part;
    part.min_lr = 1e-5;
    part.warmup_lr = 1e-6;
    part.scale_ends = true;
    const OptimPart optim;  // 5e-4 for a batch of 512
    EXPECT_DOUBLE_EQ(scaled_schedule(part, optim, 64).min_lr, 1e-5 / 8);
    EXPECT_DOUBLE_EQ(scaled_schedule(part, optim, 64).warmup_lr, 1e-6 / 8);
    EXPECT_DOUBLE_EQ(scaled_schedule(part, optim, 1024).min_lr, 1e-5);
    for (const std::int64_t batch : {1, 8, 64, 1024})
        EXPECT_LT(scaled_schedule(part, optim, batch).min_lr, scaled_lr(optim, batch));
}

// DeiT's code scales --lr alone.
TEST(Schedule, EndsAreThoseOfTheRecipeWhateverTheBatch) {
    SchedulePart part;
    part.min_lr = 1e-5;
    part.warmup_lr = 1e-6;
    for (const std::int64_t batch : {1, 64, 512, 1024}) {
        EXPECT_DOUBLE_EQ(scaled_schedule(part, OptimPart(), batch).min_lr, 1e-5) << batch;
        EXPECT_DOUBLE_EQ(scaled_schedule(part, OptimPart(), batch).warmup_lr, 1e-6) << batch;
    }
}

TEST(Schedule, DecayStaysUnlessAnEndIsGiven) {
    OptimPart optim;
    optim.weight_decay = 0.04;
    const SchedulePart part = schedule(ScheduleKind::cosine);
    for (const std::int64_t step : {0, 17, 39, 60})
        EXPECT_EQ(weight_decay(optim, part, 4, step), 0.04) << step;
    optim.weight_decay_end = 0.4;
    EXPECT_DOUBLE_EQ(weight_decay(optim, part, 4, 20), 0.22);  // half way
    EXPECT_EQ(weight_decay(optim, part, 4, 40), 0.4);          // cool-down
    optim.weight_decay_end = 0;
    EXPECT_DOUBLE_EQ(weight_decay(optim, part, 4, 20), 0.02);
}

TEST(Schedule, MomentumStaysWhereBothEndsAreEqual) {
    const SchedulePart part = schedule(ScheduleKind::constant);
    EXPECT_EQ(target_momentum(0.99, 0.99, part, 4, 13), 0.99);
    EXPECT_EQ(target_momentum(0.9, 1, part, 4, 0), 0.9);
    EXPECT_DOUBLE_EQ(target_momentum(0.9, 1, part, 4, 20), 0.95);
    EXPECT_EQ(target_momentum(0.9, 1, part, 4, 40), 1);
}

TEST(Schedule, TheWarmupMayComeBeforeTheCosine) {
    SchedulePart part = schedule(ScheduleKind::cosine_after_warmup);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 0), 1e-4);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 7), kBase);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 8), kBase);
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 24), 1e-5 + 0.5 * 99e-5);  // half of the rest
    EXPECT_DOUBLE_EQ(learning_rate(part, kBase, 4, 40), 1e-5);
    part.unit = ScheduleUnit::epoch;
    EXPECT_EQ(learning_rate(part, kBase, 4, 27), learning_rate(part, kBase, 4, 24));
}

}  // namespace
}  // namespace cait
