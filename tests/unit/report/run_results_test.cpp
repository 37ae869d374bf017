#include "report/run_results.h"

#include <gtest/gtest.h>

#include "evaluate/scores.h"

namespace cait {
namespace {

MetricsRecord validation(double epoch, double top1, double loss, double top1_ema = -1) {
    MetricsRecord record{"val",
                         std::int64_t(10 * epoch),
                         epoch,
                         {{"top1", top1}, {"top5", top1 / 2 + 0.5}, {"loss", loss}}};
    if (top1_ema >= 0) {
        record.values["top1_ema"] = top1_ema;
        record.values["top5_ema"] = 0.9;
        record.values["loss_ema"] = loss + 1;
    }
    return record;
}

EpochScores scores_at(double epoch, double top1, double top5, double loss) {
    return {epoch, {make_score("top1", top1), make_score("top5", top5), make_score("loss", loss)}};
}

TEST(RunResults, TellTheFinalEpochFromTheBest) {
    const std::vector<MetricsRecord> records{{"train", 5, 0.5, {{"top1", 0.99}, {"loss", 0.1}}},
                                             validation(1, 0.5, 1.5),
                                             validation(2, 0.7, 1.1),
                                             validation(3, 0.7, 0.9),
                                             validation(4, 0.6, 1.0)};
    const RunResults by_top1 = run_results(records, "top1");
    EXPECT_EQ(by_top1.final_epoch, scores_at(4, 0.6, 0.8, 1.0));
    EXPECT_EQ(by_top1.best->epoch, 2);  // of equals the first
    EXPECT_EQ(by_top1.final_ema, std::nullopt);
    EXPECT_EQ(run_results(records, "loss").best->epoch, 3);
    EXPECT_EQ(run_results(records, "top5").best->epoch, 2);
    EXPECT_EQ(run_results(records, "top1_ema").best->epoch, 2);  // there is no average
    EXPECT_EQ(run_results({}, "top1").best, std::nullopt);
}

TEST(RunResults, KnowAveragedWeights) {
    const std::vector<MetricsRecord> records{validation(1, 0.5, 1.5, 0.8),
                                             validation(2, 0.7, 1.0, 0.6)};
    const RunResults found = run_results(records, "top1_ema");
    EXPECT_EQ(found.best, scores_at(1, 0.8, 0.9, 2.5));
    EXPECT_EQ(found.final_ema, scores_at(2, 0.6, 0.9, 2.0));
    EXPECT_EQ(run_results(records, "top1").best->epoch, 2);
}

}  // namespace
}  // namespace cait
