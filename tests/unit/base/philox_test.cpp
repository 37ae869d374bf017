#include "base/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cait {
namespace {

// Known answers for Philox 4x32-10 that its authors publish with their code.
TEST(Philox, GivesThePublishedKnownAnswers) {
    EXPECT_EQ(philox(0, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint64_t kOnes = ~0ULL;
    EXPECT_EQ(philox(kOnes, kOnes, kOnes),
              (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    // The digits of pi: counter first, key after.
    EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
              (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, ReadsTheBlocksInOrder) {
    RandomStream stream(7, std::uint64_t{3});
    const PhiloxBlock first = philox(7, 3, 0);
    const PhiloxBlock second = philox(7, 3, 1);
    for (const std::uint32_t word : first) EXPECT_EQ(stream.bits(), word);
    EXPECT_EQ(stream.bits(), second[0]);
}

TEST(RandomStream, DependsOnSeedAndPurposeAlone) {
    const auto draw = [](std::uint64_t seed, std::string_view purpose) {
        RandomStream stream(seed, purpose);
        std::vector<float> values;
        for (int i = 0; i < 9; ++i) values.push_back(stream.normal());
        return values;
    };
    EXPECT_EQ(draw(1, "head.weight"), draw(1, "head.weight"));
    EXPECT_NE(draw(1, "head.weight"), draw(2, "head.weight"));
    EXPECT_NE(draw(1, "head.weight"), draw(1, "head.bias"));
}

TEST(RandomStream, UniformStaysInItsRangeAndFillsIt) {
    RandomStream stream(1, "uniform");
    constexpr int kDraws = 100'000;
    float low = 1;
    float high = 0;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
        const float value = stream.uniform();
        ASSERT_GE(value, 0.0F);
        ASSERT_LT(value, 1.0F);
        low = std::min(low, value);
        high = std::max(high, value);
        sum += value;
    }
    EXPECT_LT(low, 1e-3F);
    EXPECT_GT(high, 1 - 1e-3F);
    EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
}

TEST(RandomStream, NormalHasTheMomentsOfANormal) {
    RandomStream stream(1, "normal");
    constexpr int kDraws = 200'000;
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    double neighbours = 0;
    double previous = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double value = stream.normal();
        ASSERT_TRUE(std::isfinite(value));
        sum += value;
        squares += value * value;
        fourths += value * value * value * value;
        neighbours += value * previous;
        previous = value;
    }
    // Five standard errors: 1, sqrt(2), sqrt(96) and 1 over sqrt(n).
    const double error = 5 / std::sqrt(double(kDraws));
    EXPECT_NEAR(sum / kDraws, 0, error);
    EXPECT_NEAR(squares / kDraws, 1, std::sqrt(2.0) * error);
    EXPECT_NEAR(fourths / kDraws, 3, std::sqrt(96.0) * error);
    EXPECT_NEAR(neighbours / kDraws, 0, error);
}

// A changed value would silently change what every seed means.
TEST(RandomStream, KeepsItsValuesBetweenReleases) {
    RandomStream stream(42, "pinned");
    const PhiloxBlock block = philox(42, stable_hash("pinned"), 0);
    EXPECT_EQ(stream.uniform(), float(block[0] >> 8) / 16777216.0F);
}

TEST(StableHash, IsFnv1a) {
    EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
    EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);
    EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace cait
