#include "data/augment/random_crop.h"

#include <gtest/gtest.h>

#include <array>

#include "cait/error.h"
#include "unit/data/augment/goodness.h"

namespace cait {
namespace {

// The whole image is allowed on a large square, so no try fails and the draws are as they were
// made.
TEST(RandomResizedCrop, DrawsAreaAndShapeAsPublished) {
    RandomResizedCrop crop;
    crop.scale = {0.08, 0.5};
    RandomStream random(1, "areas");
    std::vector<double> areas;
    std::vector<double> ratios;
    constexpr std::int64_t kSide = 20'000;
    for (int i = 0; i < 10'000; ++i) {
        const Rectangle part = crop.choose_rectangle(kSide, kSide, random);
        areas.push_back(double(part.width) * double(part.height) / double(kSide * kSide));
        ratios.push_back(std::log(double(part.width) / double(part.height)));
    }
    test::expect_uniform(areas, 0.08, 0.5, "area");
    test::expect_uniform(ratios, std::log(3.0 / 4), std::log(4.0 / 3), "log ratio");
}

TEST(RandomResizedCrop, StaysInsideAndGoesEverywhere) {
    RandomStream random(2, "places");
    std::vector<double> lefts;
    std::vector<double> tops;
    for (int i = 0; i < 20'000; ++i) {
        const Rectangle part = RandomResizedCrop{}.choose_rectangle(500, 375, random);
        ASSERT_GE(part.left, 0);
        ASSERT_GE(part.top, 0);
        ASSERT_LE(part.left + part.width, 500);
        ASSERT_LE(part.top + part.height, 375);
        // Spread over the cell of its whole number, a uniform choice becomes a uniform number.
        lefts.push_back((double(part.left) + random.uniform()) / double(500 - part.width + 1));
        tops.push_back((double(part.top) + random.uniform()) / double(375 - part.height + 1));
    }
    test::expect_uniform(lefts, 0, 1, "left");
    test::expect_uniform(tops, 0, 1, "top");
}

TEST(RandomResizedCrop, FallsBackToTheCentre) {
    RandomResizedCrop crop;
    crop.scale = {1, 1};
    RandomStream random(3, "fallback");
    EXPECT_EQ(crop.choose_rectangle(1000, 30, random), (Rectangle{480, 0, 40, 30}));
    EXPECT_EQ(crop.choose_rectangle(30, 1000, random), (Rectangle{0, 480, 30, 40}));
    EXPECT_EQ(crop.choose_rectangle(1, 1, random), (Rectangle{0, 0, 1, 1}));
}

TEST(RandomResizedCrop, RefusesWrongIntervals) {
    EXPECT_THROW((RandomResizedCrop{.scale = {0, 1}}.check()), UsageError);
    EXPECT_THROW((RandomResizedCrop{.scale = {0.5, 0.1}}.check()), UsageError);
    EXPECT_THROW((RandomResizedCrop{.scale = {0.5, 1.5}}.check()), UsageError);
    EXPECT_THROW((RandomResizedCrop{.ratio = {-1, 1}}.check()), UsageError);
}

TEST(RandomCrop, StartsAnywhereInThePaddedImage) {
    RandomStream random(4, "padded");
    std::array<int, 81> counts{};
    for (int i = 0; i < 40'000; ++i) {
        const Rectangle part = random_crop(32, 32, 32, 32, 4, random);
        ASSERT_EQ(part.width, 32);
        ++counts[std::size_t((part.top + 4) * 9 + part.left + 4)];
    }
    test::expect_equal_shares(counts, "81 places");
}

TEST(RandomCrop, RefusesAnImageThatIsTooSmall) {
    RandomStream random(5, "small");
    EXPECT_THROW(random_crop(20, 32, 32, 32, 4, random), Error);
    EXPECT_EQ(random_crop(24, 24, 32, 32, 4, random), (Rectangle{-4, -4, 32, 32}));
}

}  // namespace
}  // namespace cait
