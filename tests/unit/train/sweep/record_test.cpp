// Records of runs: they come back as they were written, and what is no record is refused.
#include "train/sweep/record.h"

#include <gmock/gmock.h>

#include <cmath>

#include "cait/error.h"
#include "support/temporary_folder.h"
#include "system/atomic_file.h"
#include "train/sweep/record_store.h"
#include "train/sweep/runner.h"

namespace cait {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

RunRecord example() {
    RunRecord record;
    record.study = "s";
    record.arm = "a";
    record.seed = 3;
    record.identity = "0123456789abcdef";
    record.settings = {{"optim.lr", "0.001"}};
    record.scores = {{"top1", 0.1 + 0.2}, {"loss", 1.5}};
    record.curve = {{1, {{"train_loss", 2.0}}}, {2, {{"train_loss", std::nan("")}}}};
    record.machine = {"some processor", "avx2", "bf16", "0.2.0", 2, 1};
    record.started = "2026-11-18T09:42:00Z";
    record.seconds = 12.5;
    record.processor_seconds = 5;
    return record;
}

class SweepRecord : public testing::Test {
protected:
    TemporaryFolder folder_;
    void write(const std::string& name, const std::string& text) const {
        AtomicFile file(folder_.path() / name);
        file.write(text);
        file.commit();
    }
};

TEST_F(SweepRecord, OtherProgramsOnTheMachineCostNoBudget) {
    RunRecord record = example();  // two threads
    EXPECT_DOUBLE_EQ(time_of(record), 12.5);
    EXPECT_DOUBLE_EQ(cost_of(record), 2.5);
    record.processor_seconds = 40;  // more than two threads can have: its libraries' own
    EXPECT_DOUBLE_EQ(cost_of(record), 12.5);
    record.machine.jobs = 2;
    EXPECT_DOUBLE_EQ(cost_of(record), 6.25);
    record.processor_seconds = 0;  // of records that were made before this was counted
    EXPECT_DOUBLE_EQ(cost_of(record), 6.25);
}

TEST_F(SweepRecord, ComesBackAsItWasWritten) {
    write_record(folder_.path() / "r.json", example());
    const RunRecord record = read_record(folder_.path() / "r.json");
    EXPECT_EQ(record.scores, example().scores);
    EXPECT_EQ(record.settings, example().settings);
    EXPECT_EQ(record.seed, 3);
    EXPECT_EQ(record.machine.precision, "bf16");
    EXPECT_EQ(record.seconds, 12.5);
    EXPECT_EQ(record.processor_seconds, 5);
    ASSERT_EQ(record.curve.size(), 2U);
    EXPECT_EQ(record.curve[0].values.at("train_loss"), 2);
    EXPECT_TRUE(std::isnan(record.curve[1].values.at("train_loss")));
}

TEST_F(SweepRecord, WhatIsNoneIsRefusedByName) {
    for (const auto& [text, message] :
         std::vector<std::pair<std::string, std::string>>{{"{", "expected 'study'"},
                                                          {"[1]", "expected 'study'"},
                                                          {"{\"study\": 1}", "a text 'study'"}}) {
        write("r.json", text);
        EXPECT_THAT([&] { read_record(folder_.path() / "r.json"); },
                    ThrowsMessage<Error>(testing::AllOf(HasSubstr("r.json"), HasSubstr(message))));
    }
}

TEST_F(SweepRecord, OneOfOtherSettingsIsNotMixedIn) {
    SweepRun run;
    run.arm = "a";
    run.seed = 3;
    run.identity = "0123456789abcdef";
    run.settings = {{"optim.lr", "0.001"}};
    const RecordStore store(folder_.path(), "s", {});
    EXPECT_FALSE(store.find(run));
    store.write(run, example());
    EXPECT_TRUE(store.find(run));
    // Kept elsewhere, such as in a repository.
    const RecordStore other(folder_.path() / "new", "s", {folder_.path()});
    EXPECT_TRUE(other.find(run));
    run.identity = "fedcba9876543210";
    run.settings["optim.lr"] = "0.002";
    EXPECT_THAT([&] { store.find(run); },
                ThrowsMessage<Error>(HasSubstr("(optim.lr 0.001 -> 0.002)")));
}

TEST_F(SweepRecord, ACurveHasAPointPerEpoch) {
    const std::vector<MetricsRecord> records{
        {"train", 5, 0.5, {{"loss", 9}, {"seconds_forward", 1}}},
        {"train", 10, 1, {{"loss", 8}, {"epoch_loss", 4}, {"seconds_other", 2}}},
        {"val", 10, 1, {{"top1", 0.25}, {"loss", 3}}},
        {"train", 20, 2, {{"loss", 7}, {"epoch_loss", 3}, {"epoch_top1", 0.5}}}};
    const auto curve = curve_of(records);
    ASSERT_EQ(curve.size(), 2U);
    EXPECT_EQ(curve[0].values,
              (std::map<std::string, double>{{"train_loss", 4}, {"top1", 0.25}, {"loss", 3}}));
    EXPECT_EQ(curve[1].values,
              (std::map<std::string, double>{{"train_loss", 3}, {"train_top1", 0.5}}));
    EXPECT_EQ(training_seconds(records), 3);
}

TEST_F(SweepRecord, StableIsWhatEndsBelowAQuarterOfTheWay) {
    const auto curve = [](std::initializer_list<double> losses) {
        std::vector<CurvePoint> points;
        for (const double loss : losses)
            points.push_back({double(points.size() + 1), {{"train_loss", loss}}});
        return points;
    };
    EXPECT_TRUE(is_stable(curve({5, 4, 6, 5, 4, 3, 3, 4})));
    EXPECT_FALSE(is_stable(curve({5, 4, 3, 3, 3, 3, 3, 4.1})));
    EXPECT_FALSE(is_stable(curve({5, 4, 3, std::nan("")})));
    EXPECT_FALSE(is_stable({}));
}

}  // namespace
}  // namespace cait
