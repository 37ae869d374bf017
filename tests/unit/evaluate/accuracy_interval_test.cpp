#include "evaluate/accuracy_interval.h"

#include <gtest/gtest.h>

#include "evaluate/scores.h"

namespace cait {
namespace {

// statsmodels.stats.proportion.proportion_confint(count, nobs, method="wilson")
TEST(AccuracyInterval, IsWilsons) {
    const AccuracyInterval some = accuracy_interval(15.0 / 20, 20);
    EXPECT_NEAR(some.low, 0.531299, 1e-6);
    EXPECT_NEAR(some.high, 0.888138, 1e-6);
    const AccuracyInterval all = accuracy_interval(1, 10);
    EXPECT_NEAR(all.low, 0.722467, 1e-6);
    EXPECT_NEAR(all.high, 1, 1e-12);
    const AccuracyInterval none = accuracy_interval(0, 10);
    EXPECT_NEAR(none.low, 0, 1e-12);
    EXPECT_NEAR(none.high, 0.277533, 1e-6);
    EXPECT_EQ(accuracy_interval(0, 0).high, 1);
}

TEST(AccuracyInterval, IsShownForFewImagesAndForSharesOfThem) {
    EXPECT_EQ(interval_text(make_score("top1", 0.75), 20), "95 % interval 53.1 to 88.8 %");
    EXPECT_NE(interval_text(make_score("exact_match", 0.75), 999), "");
    EXPECT_EQ(interval_text(make_score("top1", 0.75), 1000), "");
    EXPECT_EQ(interval_text(make_score("loss", 0.75), 20), "");
    EXPECT_EQ(interval_text(make_score("map", 0.75), 20), "");
}

}  // namespace
}  // namespace cait
