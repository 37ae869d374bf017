#include "kernels/seen_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace cait::kernels {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// The weights of four keys with the scores 0, log 2, log 3 and log 4, for the query at `place`.
std::vector<float> weights_of(const std::vector<float>& mask, bool causal, Index place) {
    std::vector<float> scores{0, 0.6931472F, 1.0986123F, 1.3862944F};
    SeenKeys(4, mask.empty() ? nullptr : mask.data(), causal)
        .weigh(scores.data(), place, Format::f32);
    return scores;
}

auto tenths(std::vector<float> values) {
    for (float& value : values) value /= 10;
    return Pointwise(FloatNear(1e-6F), values);
}

TEST(SeenKeys, WeighByWhatAQuerySees) {
    EXPECT_THAT(weights_of({}, false, 0), tenths({1, 2, 3, 4}));
    EXPECT_THAT(weights_of({}, true, 3), tenths({1, 2, 3, 4}));
    EXPECT_THAT(weights_of({}, true, 9), tenths({1, 2, 3, 4}));
    EXPECT_THAT(weights_of({1, 0, 1, 0}, false, 0), tenths({2.5F, 0, 7.5F, 0}));
    EXPECT_THAT(weights_of({0, 0, 1, 1}, true, 2), tenths({0, 0, 10, 0}));
}

// Not nearly nothing: a product of it must vanish.
TEST(SeenKeys, WhatIsHiddenWeighsNothing) {
    EXPECT_THAT(weights_of({}, true, 0), ElementsAre(1, 0, 0, 0));
    EXPECT_THAT(weights_of({1, 0, 0, 0}, false, 3), ElementsAre(1, 0, 0, 0));
    EXPECT_THAT(weights_of({0, 1, 0, 0}, false, 0), ElementsAre(0, 1, 0, 0));
}

TEST(SeenKeys, AQueryThatSeesNothingTakesTheMean) {
    const std::vector<float> mean(4, 0.25F);
    EXPECT_EQ(weights_of({0, 0, 0, 0}, false, 0), mean);
    EXPECT_EQ(weights_of({0, 0, 0, 0}, true, 2), mean);
    EXPECT_EQ(weights_of({0, 0, 1, 1}, true, 1), mean);
}

TEST(SeenKeys, UsedEndsWhereNoQueryWeighsAnything) {
    const auto used = [](const std::vector<float>& mask, bool causal) {
        return SeenKeys(4, mask.data(), causal).used();
    };
    EXPECT_EQ(SeenKeys(4, nullptr, true).used(), 4);
    EXPECT_EQ(used({1, 0, 1, 0}, false), 3);
    EXPECT_EQ(used({1, 1, 0, 0}, true), 2);
    EXPECT_EQ(used({0, 1, 0, 0}, false), 2);
    EXPECT_EQ(used({0, 1, 0, 0}, true), 4);  // the first query takes the mean of all
    EXPECT_EQ(used({0, 0, 0, 0}, false), 4);
}

}  // namespace
}  // namespace cait::kernels
