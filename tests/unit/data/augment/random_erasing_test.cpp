#include "data/augment/random_erasing.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "cait/error.h"
#include "unit/data/augment/goodness.h"

namespace cait {
namespace {

constexpr std::int64_t kSide = 64;

TEST(RandomErasing, DrawsAreaShapeAndProbability) {
    RandomErasing erasing{.probability = 0.25, .area = {0.02, 0.2}};
    RandomStream random(1, "erasing");
    std::vector<Rectangle> rectangles;
    std::vector<double> areas;
    std::vector<double> ratios;
    int erased = 0;
    constexpr int kImages = 20'000;
    constexpr std::int64_t kLarge = 20'000;
    for (int i = 0; i < kImages; ++i) {
        erasing.draw(kLarge, kLarge, random, rectangles);
        if (rectangles.empty()) continue;
        ++erased;
        const Rectangle& part = rectangles.front();
        areas.push_back(double(part.width * part.height) / double(kLarge * kLarge));
        ratios.push_back(std::log(double(part.height) / double(part.width)));
    }
    test::expect_shares(std::array{erased, kImages - erased}, std::array{0.25, 0.75},
                        "probability");
    test::expect_uniform(areas, 0.02, 0.2, "area");
    test::expect_uniform(ratios, std::log(0.3), std::log(1 / 0.3), "log aspect");
}

TEST(RandomErasing, DrawsCountsAndSharesTheArea) {
    const RandomErasing erasing{
        .probability = 1, .area = {0.3, 0.3}, .aspect = {1, 1}, .min_count = 1, .max_count = 3};
    RandomStream random(2, "counts");
    std::vector<Rectangle> rectangles;
    std::array<int, 3> counts{};
    for (int i = 0; i < 9'000; ++i) {
        erasing.draw(1000, 1000, random, rectangles);
        ++counts.at(rectangles.size() - 1);
        const double area = 0.3 * 1e6 / double(rectangles.size());
        EXPECT_NEAR(double(rectangles[0].width * rectangles[0].height), area, 1500);
    }
    test::expect_equal_shares(counts, "rectangles per image");
}

std::vector<float> erased(EraseMode mode, const SampleKey& key) {
    RandomErasing erasing{.probability = 1, .mode = mode};
    RandomErasing::Workspace workspace;
    std::vector<float> image(3 * kSide * kSide, 100.0F);
    erasing.apply(key, 3, kSide, kSide, image, workspace);
    return image;
}

TEST(RandomErasing, FillsAccordingToTheMode) {
    const SampleKey key{1, 2, 3, 0};
    const auto values_of = [&](EraseMode mode, std::size_t channel) {
        const std::vector<float> image = erased(mode, key);
        std::set<float> values(image.begin() + std::ptrdiff_t(channel * kSide * kSide),
                               image.begin() + std::ptrdiff_t((channel + 1) * kSide * kSide));
        values.erase(100.0F);
        return values;
    };
    EXPECT_EQ(values_of(EraseMode::constant, 0), (std::set<float>{0.0F}));
    EXPECT_EQ(values_of(EraseMode::colour, 0).size(), 1U);
    EXPECT_NE(values_of(EraseMode::colour, 0), values_of(EraseMode::colour, 1));
    EXPECT_GT(values_of(EraseMode::pixel, 0).size(), 50U);
}

TEST(RandomErasing, NoiseIsNormal) {
    std::vector<double> values;
    for (std::uint64_t sample = 0; sample < 20; ++sample)
        for (const float value : erased(EraseMode::pixel, {1, 0, sample, 0}))
            if (value != 100.0F) values.push_back(value);
    test::expect_distribution(
        values, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }, "noise");
}

TEST(RandomErasing, IsAFunctionOfTheKey) {
    EXPECT_EQ(erased(EraseMode::pixel, {1, 2, 3, 0}), erased(EraseMode::pixel, {1, 2, 3, 0}));
    EXPECT_NE(erased(EraseMode::pixel, {1, 2, 3, 0}), erased(EraseMode::pixel, {1, 2, 3, 1}));
    EXPECT_NE(erased(EraseMode::pixel, {1, 2, 3, 0}), erased(EraseMode::pixel, {1, 2, 4, 0}));
}

TEST(RandomErasing, RefusesWrongSettings) {
    EXPECT_THROW((RandomErasing{.probability = 1.5}.check()), UsageError);
    EXPECT_THROW((RandomErasing{.area = {0.5, 0.1}}.check()), UsageError);
    EXPECT_THROW((RandomErasing{.aspect = {0, 1}}.check()), UsageError);
    EXPECT_THROW((RandomErasing{.min_count = 2, .max_count = 1}.check()), UsageError);
}

}  // namespace
}  // namespace cait
