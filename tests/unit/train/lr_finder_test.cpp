#include "train/lr_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "cait/error.h"

namespace cait {
namespace {

// Flat, falling around 1e-3, lowest at 1e-2, then rising.
std::vector<LrPoint> valley() {
    std::vector<LrPoint> points;
    for (double exponent = -7; exponent <= 0; exponent += 0.1) {
        const double loss =
            2 - 1 / (1 + std::exp(-4 * (exponent + 3))) + std::exp(4 * (exponent + 1));
        points.push_back({std::pow(10, exponent), loss});
    }
    return points;
}

TEST(LrFinder, TakesTheRateAtWhichTheLossFallsFastest) {
    const LrFinding finding = judge_rates(valley());
    EXPECT_GT(finding.fastest, 3e-4);
    EXPECT_LT(finding.fastest, 3e-3);
    EXPECT_GT(finding.lowest, finding.fastest);
    EXPECT_EQ(finding.points.size(), valley().size());
}

// What a run sees: a hundred batches of a loss that falls from 1e-3 on, and their scatter.
std::vector<LrPoint> noisy(std::uint64_t seed, double noise, double fall = 1) {
    RandomStream random(seed, "losses");
    std::vector<LrPoint> points;
    for (int i = 0; i < 100; ++i) {
        const double exponent = -7 + 7.0 * i / 99;
        const double loss = 2.3 - fall / (1 + std::exp(-4 * (exponent + 2.5))) +
                            std::exp(4 * (exponent + 0.7)) + noise * double(random.normal());
        if (loss > 5) break;
        points.push_back({std::pow(10, exponent), loss});
    }
    return points;
}

// It used to name one of the first rates, where the loss had fallen from one batch to the next by
// chance.
TEST(LrFinder, TakesNoScatterForAFall) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const LrFinding finding = judge_rates(noisy(seed, 0.2));
        EXPECT_GT(finding.fastest, 1e-4) << seed;
        EXPECT_LT(finding.fastest, 5e-2) << seed;
        EXPECT_GT(finding.lowest, finding.fastest) << seed;
    }
}

TEST(LrFinder, LeavesTheFirstStepsOutHoweverSteepTheyFall) {
    std::vector<LrPoint> points = noisy(1, 0.01);
    for (std::size_t i = 0; i < 8; ++i) points[i].loss += 8 - double(i);
    EXPECT_GT(judge_rates(points).fastest, 1e-4);
}

TEST(LrFinder, SaysWhetherTheFallIsClear) {
    EXPECT_TRUE(judge_rates(noisy(0, 0.05)).is_clear);
    int clear = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        try {
            clear += judge_rates(noisy(seed, 0.2, 0)).is_clear;
        } catch (const Error&) {  // no fall at all, as it should be
        }
    }
    EXPECT_LE(clear, 3);
}

TEST(LrFinder, SaysWhenThereIsNothingToFind) {
    std::vector<LrPoint> rising;
    for (int i = 0; i < 20; ++i) rising.push_back({std::pow(10.0, i * 0.1 - 5), 1.0 + i});
    EXPECT_THROW(judge_rates(rising), Error);
    EXPECT_THROW(judge_rates({}), Error);
}

}  // namespace
}  // namespace cait
