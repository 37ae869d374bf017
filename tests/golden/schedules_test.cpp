// Schedules as DINO's own code has them; data/schedules.json has its numbers.
#include <gtest/gtest.h>

#include "golden/golden_case.h"
#include "support/case_count.h"
#include "train/optim/schedule.h"

namespace cait {
namespace {

using Json = nlohmann::json;

const Json& schedules_file() {
    static const Json kFile = golden::read_json("schedules.json");
    return kFile;
}

SchedulePart part_of(const Json& one) {
    SchedulePart part;
    part.name = ScheduleKind::cosine_after_warmup;
    part.epochs = one["epochs"];
    part.warmup = one["warmup"];
    part.warmup_lr = one["warmup_start"];
    part.min_lr = one["end"];
    return part;
}

// Of the numbers themselves, which differ by eight orders of magnitude.
void schedules_expect_equal(double found, double expected, const std::string& what) {
    EXPECT_NEAR(found, expected, 1e-14 * std::abs(expected) + 1e-18) << what;
}

TEST(GoldenSchedules, RatesAreThoseOfTheOfficialCode) {
    test::CaseCount values(186);
    for (const Json& one : schedules_file()["cosine"])
        for (const Json& at : one["values"]) {
            const std::int64_t step = at[0];
            schedules_expect_equal(
                learning_rate(part_of(one), one["start"], one["steps_per_epoch"], step), at[1],
                one.dump().substr(0, 100) + " step " + std::to_string(step));
            ++values;
        }
}

TEST(GoldenSchedules, DecayAndMomentumAreThoseOfTheOfficialCode) {
    test::CaseCount values(101);
    for (const Json& one : schedules_file()["cosine"]) {
        if (one["warmup"] != 0) continue;
        OptimPart optim;
        optim.weight_decay = one["start"];
        optim.weight_decay_end = one["end"];
        for (const Json& at : one["values"]) {
            const std::int64_t step = at[0], each = one["steps_per_epoch"];
            schedules_expect_equal(weight_decay(optim, part_of(one), each, step), at[1], "decay");
            schedules_expect_equal(
                target_momentum(one["start"], one["end"], part_of(one), each, step), at[1],
                "momentum");
            ++values;
        }
    }
}

TEST(GoldenSchedules, TheTeachersTemperatureIsThatOfTheOfficialCode) {
    test::CaseCount values(56);
    for (const Json& one : schedules_file()["teacher_temperature"])
        for (std::size_t epoch = 0; epoch < one["values"].size(); ++epoch) {
            schedules_expect_equal(
                teacher_temperature(one["start"], one["end"], one["warmup"], std::int64_t(epoch)),
                one["values"][epoch], "epoch " + std::to_string(epoch));
            ++values;
        }
}

}  // namespace
}  // namespace cait
