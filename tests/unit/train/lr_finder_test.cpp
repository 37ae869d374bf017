#include "train/lr_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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

TEST(LrFinder, SaysWhenThereIsNothingToFind) {
    std::vector<LrPoint> rising;
    for (int i = 0; i < 20; ++i) rising.push_back({std::pow(10.0, i * 0.1 - 5), 1.0 + i});
    EXPECT_THROW(judge_rates(rising), Error);
    EXPECT_THROW(judge_rates({}), Error);
}

}  // namespace
}  // namespace cait
