#include "train/torch/drop_factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace cait {
namespace {

using testing::Each;
using testing::ElementsAreArray;

constexpr double kDropFactorsRate = 0.25;
const EvaluateContext kDropFactorsContext{.seed = 3, .step = 9};

std::vector<float> factors_of(std::size_t images,
                              const EvaluateContext& context = kDropFactorsContext) {
    return drop_factors("blocks.0.residual", kDropFactorsRate, images, context);
}

TEST(DropFactors, AreZeroOrWhatKeepsTheMean) {
    const std::vector<float> factors = factors_of(40'000);
    EXPECT_THAT(factors, Each(testing::AnyOf(0.0F, float(1 / 0.75))));
    const double mean = std::accumulate(factors.begin(), factors.end(), 0.0) / 40'000;
    // Five times the std of that mean.
    EXPECT_NEAR(mean, 1, 5 * std::sqrt(kDropFactorsRate / (1 - kDropFactorsRate) / 40'000));
}

TEST(DropFactors, KeepEveryImageAtRateZero) {
    EXPECT_THAT(drop_factors("n", 0, 100, kDropFactorsContext), Each(1.0F));
    EXPECT_TRUE(drop_factors("n", 0.5, 0, kDropFactorsContext).empty());
}

TEST(DropFactors, ChangeWithSeedStepAndNode) {
    const std::vector<float> factors = factors_of(200);
    EXPECT_EQ(factors, factors_of(200));
    EXPECT_NE(factors, factors_of(200, {.seed = 4, .step = 9}));
    EXPECT_NE(factors, factors_of(200, {.seed = 3, .step = 10}));
    EXPECT_NE(factors,
              drop_factors("blocks.1.residual", kDropFactorsRate, 200, kDropFactorsContext));
}

TEST(DropFactors, DoNotDependOnHowTheBatchIsDealtOut) {
    const std::vector<float> whole = factors_of(60);
    EvaluateContext part = kDropFactorsContext;
    part.first_image = 40;  // the last part of an accumulated step
    EXPECT_THAT(factors_of(20, part), ElementsAreArray(whole.begin() + 40, whole.end()));
    part.first_image = 0;
    part.deal = {.rank = 1, .world = 3};
    const std::vector<float> second = factors_of(20, part);
    for (std::size_t i = 0; i < second.size(); ++i) EXPECT_EQ(second[i], whole[1 + 3 * i]) << i;
}

// Twice thirty images: the second part has images 10 … 19 of both passes.
TEST(DropFactors, OfFurtherPassesDoNotDependOnTheParts) {
    const std::vector<float> whole = factors_of(60);
    EvaluateContext part = kDropFactorsContext;
    part.first_image = 10;
    part.pass_rows = 10;
    part.pass_images = 30;
    const std::vector<float> found = factors_of(20, part);
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(found[i], whole[10 + i]) << i;
        EXPECT_EQ(found[10 + i], whole[40 + i]) << i;
    }
}

}  // namespace
}  // namespace cait
