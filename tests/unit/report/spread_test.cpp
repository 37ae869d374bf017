#include "report/spread.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cait/error.h"

namespace cait {
namespace {

// Expected values are NumPy's: mean, std(ddof=1), corrcoef.
TEST(Spread, IsNumPysWithOneDegreeOfFreedomTaken) {
    const std::vector<double> values{0.7972, 0.7985, 0.79611, 0.8, 0.7969};
    const Spread spread = spread_of(values);
    EXPECT_EQ(spread.count, 5U);
    EXPECT_NEAR(spread.mean, 0.7977420000000001, 1e-15);
    EXPECT_NEAR(*spread.deviation, 0.001528011780059313, 1e-15);
    EXPECT_EQ(spread.least, 0.79611);
    EXPECT_EQ(spread.most, 0.8);
    const std::vector<double> large{1e9 + 0.25, 1e9 + 0.5, 1e9 + 1};
    EXPECT_NEAR(*spread_of(large).deviation, 0.38188130791298974, 1e-9);
}

TEST(Spread, OfOneValueHasNoDeviation) {
    const std::vector<double> one{0.5};
    EXPECT_EQ(spread_of(one).deviation, std::nullopt);
    EXPECT_EQ(spread_of(one).mean, 0.5);
    EXPECT_THROW(spread_of({}), Error);
    const std::vector<double> broken{0.5, std::nan("")};
    EXPECT_THROW(spread_of(broken), Error);
}

TEST(Spread, CorrelationIsPearsons) {
    const std::vector<std::pair<double, double>> points{
        {0.31, 0.71}, {0.5, 0.74}, {0.47, 0.80}, {0.62, 0.79}};
    EXPECT_NEAR(*correlation(points), 0.7323111588775959, 1e-12);
    const std::vector<std::pair<double, double>> flat{{1, 2}, {2, 2}};
    EXPECT_EQ(correlation(flat), std::nullopt);
}

}  // namespace
}  // namespace cait
