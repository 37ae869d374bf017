#include "evaluate/late_fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cait/model.h"
#include "engine/engine_executor.h"
#include "evaluate/evaluate_data.h"

namespace cait {
namespace {

std::vector<double> probabilities(std::span<const float> logits) {
    std::vector<double> result;
    double sum = 0;
    for (const float value : logits) sum += result.emplace_back(std::exp(double(value)));
    for (double& value : result) value /= sum;
    return result;
}

TEST(LateFusion, IsTheMeanOfBothHeadsProbabilities) {
    const std::vector<float> a{3, 0, 0, 1, 2, 3}, b{0, 2.5F, 0, 3, 2, 1};
    const Tensor fused = fused_by_probability(Tensor::of({2, 3}, a), Tensor::of({2, 3}, b));
    for (std::size_t row = 0; row < 2; ++row) {
        const auto first = probabilities(std::span(a).subspan(3 * row, 3));
        const auto second = probabilities(std::span(b).subspan(3 * row, 3));
        for (std::size_t k = 0; k < 3; ++k)
            EXPECT_NEAR(std::exp(double(fused.floats()[3 * row + k])), (first[k] + second[k]) / 2,
                        1e-6);
    }
}

// A confident head outweighs a hesitant one, whose logits are as large.
TEST(LateFusion, MayDecideOtherwiseThanTheMeanOfTheLogits) {
    const Tensor a = Tensor::of({1, 3}, std::vector<float>{6, 0, 0});
    const Tensor b = Tensor::of({1, 3}, std::vector<float>{0, 6.5F, 6.4F});
    const Tensor fused = fused_by_probability(a, b);
    EXPECT_GT(fused.floats()[0], fused.floats()[1]);
    EXPECT_GT((0 + 6.5F) / 2, (6 + 0) / 2);
}

TEST(LateFusion, StaysFiniteWhereBothHeadsAreSure) {
    const Tensor a = Tensor::of({1, 2}, std::vector<float>{500, -500});
    const Tensor fused = fused_by_probability(a, a);
    EXPECT_NEAR(fused.floats()[0], 0, 1e-6);
    EXPECT_NEAR(fused.floats()[1], -1000, 1e-3);
}

TEST(LateFusion, ReplacesTheLogitsAlone) {
    const SettingList tiny{{"image_size", "16"}, {"patch", "8"}, {"dim", "16"},
                           {"depth", "1"},       {"heads", "2"}, {"classes", "3"}};
    const Model model = Model::create("deit_tiny_distilled_patch16_224", tiny, 4);
    EXPECT_TRUE(has_two_heads(model));
    EXPECT_FALSE(has_two_heads(Model::create("deit_tiny_patch16_224", tiny, 4)));
    const EngineExecutor executor(model, {});
    const LateFusionExecutor fusion(executor);
    const Tensor images = Tensor::of({2, 3, 16, 16}, std::vector<float>(2 * 3 * 16 * 16, 0.5F));
    const std::vector<std::string> all{"logits", "logits_class", "logits_dist"};
    const auto plain = executor.run(images, all);
    const auto alone = fusion.run(images, {"logits"});
    EXPECT_EQ(alone.size(), 1U);
    const Tensor expected = fused_by_probability(plain.at("logits_class"), plain.at("logits_dist"));
    EXPECT_THAT(alone.at("logits").floats(), testing::ElementsAreArray(expected.floats()));
    const auto three = fusion.run(images, all);
    EXPECT_EQ(three.size(), 3U);
    EXPECT_THAT(three.at("logits_dist").floats(),
                testing::ElementsAreArray(plain.at("logits_dist").floats()));
}

}  // namespace
}  // namespace cait
