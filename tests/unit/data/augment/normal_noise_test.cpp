#include "data/augment/random_erasing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/philox.h"
#include "unit/data/augment/goodness.h"

namespace cait {
namespace {

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(NormalNoise, IsNormal) {
    std::vector<float> values(200'000);
    fill_normal(5, 6, values);
    test::expect_distribution({values.begin(), values.end()}, normal_distribution, "noise");
    double neighbours = 0;
    for (std::size_t i = 1; i < values.size(); ++i) neighbours += values[i] * values[i - 1];
    EXPECT_LT(std::fabs(neighbours) / std::sqrt(double(values.size())), 4);
}

// Each number has its own place: a shorter request gives the same beginning.
TEST(NormalNoise, DoesNotDependOnTheLength) {
    std::vector<float> all(1000);
    fill_normal(1, 2, all);
    for (const std::size_t length : {1, 255, 256, 257, 999}) {
        std::vector<float> some(length);
        fill_normal(1, 2, some);
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << length;
    }
}

TEST(NormalNoise, DependsOnKeyAndPurpose) {
    std::vector<float> a(8);
    std::vector<float> b(8);
    fill_normal(1, 2, a);
    fill_normal(1, 3, b);
    EXPECT_NE(a, b);
    fill_normal(2, 2, b);
    EXPECT_NE(a, b);
}

// Made of the words that philox() gives, by the exact formula.
TEST(NormalNoise, FollowsBoxAndMuller) {
    constexpr std::size_t kLanes = 64;
    std::vector<float> values(4 * kLanes);
    fill_normal(9, 10, values);
    for (std::size_t i = 0; i < kLanes; ++i) {
        const PhiloxBlock words = philox(9, 10, i);
        const double radius = std::sqrt(-2 * std::log((double(words[0] >> 8) + 0.5) * 0x1p-24));
        EXPECT_NEAR(std::hypot(values[i], values[kLanes + i]), radius, 1e-5);
        const double turn =
            double(words[1] >> 30) / 4 + (double((words[1] >> 6) & 0xFFFFFFU) - 0x1p23) * 0x1p-26;
        EXPECT_NEAR(values[i], radius * std::cos(2 * std::numbers::pi * turn), 1e-5);
        EXPECT_NEAR(values[kLanes + i], radius * std::sin(2 * std::numbers::pi * turn), 1e-5);
    }
}

}  // namespace
}  // namespace cait
