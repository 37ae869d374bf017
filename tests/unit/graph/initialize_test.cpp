#include "graph/initialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "golden/golden_case.h"
#include "models/catalogue.h"
#include "support/case_count.h"
#include "support/near.h"

namespace cait {
namespace {

WeightMap fresh(const SettingList& settings, std::uint64_t seed = 0) {
    SettingList all{{"depth", "3"}, {"image_size", "64"}};
    all.insert(all.end(), settings.begin(), settings.end());
    return initialize(record(configure("cait_xxs24_224", all)), seed);
}

double spread(const WeightMap& weights, const std::string& name) {
    return test::deviation(weights.at(name).floats());
}

std::pair<float, float> range(const WeightMap& weights, const std::string& name) {
    const auto [low, high] = std::ranges::minmax(weights.at(name).floats());
    return {low, high};
}

TEST(Initialize, FollowsTheReferenceCode) {
    const WeightMap w = fresh({{"residual_init", "1e-5"}});
    EXPECT_NEAR(spread(w, "blocks.0.attn.qkv.weight"), 0.02, 0.0005);
    EXPECT_NEAR(spread(w, "head.weight"), 0.02, 0.0005);
    EXPECT_NEAR(spread(w, "pos_embed"), 0.02, 0.002);
    EXPECT_NEAR(spread(w, "cls_token"), 0.02, 0.005);
    EXPECT_EQ(range(w, "blocks.0.attn.qkv.bias"), std::pair(0.0F, 0.0F));
    EXPECT_EQ(range(w, "blocks.1.norm1.weight"), std::pair(1.0F, 1.0F));
    EXPECT_EQ(range(w, "blocks.2.gamma_1"), std::pair(1e-5F, 1e-5F));
    // Convolutions keep PyTorch's default, uniform within 1/sqrt(fan-in).
    const float bound = 1.0F / std::sqrt(3.0F * 16 * 16);
    const auto [low, high] = range(w, "patch_embed.proj.weight");
    EXPECT_NEAR(low, -bound, bound / 100);
    EXPECT_NEAR(high, bound, bound / 100);
}

TEST(Initialize, ATableOfPiecesHasOneRowOfZeros) {
    const ParamSpec spec{"table", {50, 16}, Init::embedding(0.25, 1), {}};
    const Tensor table = initialize(spec, 4);
    EXPECT_NEAR(test::deviation(table.floats().subspan(32)), 0.25, 0.02);
    for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(table.floats()[i] == 0, i / 16 == 1) << i;
    EXPECT_TRUE(std::ranges::equal(table.floats(), initialize(spec, 4).floats()));
    EXPECT_FALSE(std::ranges::equal(table.floats(), initialize(spec, 5).floats()));
}

TEST(Initialize, SameSeedSameWeightsWhateverElseTheModelHas) {
    const WeightMap shallow = fresh({}, 5);
    const WeightMap deep = fresh({{"depth", "6"}}, 5);
    const auto equal = [&](const Tensor& a, const Tensor& b) {
        return std::ranges::equal(a.floats(), b.floats());
    };
    EXPECT_TRUE(equal(shallow.at("blocks.1.mlp.fc1.weight"), deep.at("blocks.1.mlp.fc1.weight")));
    EXPECT_FALSE(
        equal(shallow.at("blocks.1.mlp.fc1.weight"), shallow.at("blocks.2.mlp.fc1.weight")));
    EXPECT_FALSE(equal(shallow.at("head.weight"), fresh({}, 6).at("head.weight")));
}

TEST(Initialize, LayerScaleStartsByDepthAndByWish) {
    EXPECT_EQ(range(fresh({{"residual_init", "auto"}}), "blocks.0.gamma_1"), std::pair(0.1F, 0.1F));
    EXPECT_EQ(range(fresh({{"residual_init", "auto"}, {"depth", "24"}}), "blocks.0.gamma_2").first,
              1e-5F);
    EXPECT_EQ(range(fresh({{"residual_init", "auto"}, {"depth", "25"}}), "blocks.0.gamma_2").first,
              1e-6F);
    EXPECT_EQ(range(fresh({{"residual_init", "zero"}}), "blocks.0.gamma_1").second, 0.0F);
    const auto [low, high] = range(fresh({{"residual_init", "uniform:1e-3"}}), "blocks.0.gamma_1");
    EXPECT_GE(low, 0.0F);
    EXPECT_LT(low, 2e-4F);
    EXPECT_GT(high, 1.8e-3F);
    EXPECT_LT(high, 2e-3F);
}

TEST(Initialize, ScalarWeightIsOneNumberPerBranch) {
    const WeightMap w = fresh({{"residual", "scalar"}, {"residual_init", "zero"}});
    EXPECT_EQ(w.at("blocks.0.gamma_1").shape(), (Shape{1}));
    EXPECT_EQ(w.at("blocks.0.gamma_1").floats()[0], 0.0F);
    EXPECT_FALSE(fresh({{"residual", "none"}}).contains("blocks.0.gamma_1"));
}

TEST(Initialize, FixupDampsTheFirstAndZeroesTheLastLayerOfABranch) {
    const WeightMap w = fresh({{"residual", "fixup"}, {"residual_init", "auto"}});
    // 3 + 2 blocks have 10 branches.
    EXPECT_NEAR(spread(w, "blocks.0.mlp.fc1.weight"), 0.02 / std::sqrt(10.0), 1e-4);
    EXPECT_EQ(range(w, "blocks.0.mlp.fc2.weight"), std::pair(0.0F, 0.0F));
    EXPECT_EQ(range(w, "blocks.0.attn.proj.weight"), std::pair(0.0F, 0.0F));
    EXPECT_EQ(range(w, "blocks_token_only.1.attn.proj.weight"), std::pair(0.0F, 0.0F));
    EXPECT_EQ(range(w, "head.weight"), std::pair(0.0F, 0.0F));
    EXPECT_EQ(w.at("blocks.0.gamma_1").floats()[0], 1.0F);
    // Queries and keys as ever, values damped: the three parts of qkv differ.
    const auto qkv = w.at("blocks.0.attn.qkv.weight").floats();
    const std::size_t third = qkv.size() / 3;
    EXPECT_NEAR(test::deviation(qkv.subspan(0, third)), 0.02, 5e-4);
    EXPECT_NEAR(test::deviation(qkv.subspan(2 * third)), 0.02 / std::sqrt(10.0), 2e-4);
}

TEST(Initialize, TFixupIsXavierDampedByDepth) {
    const WeightMap w = fresh({{"residual", "tfixup"}, {"residual_init", "auto"}});
    const double damping = 0.67 * std::pow(5.0, -0.25);
    const double xavier = std::sqrt(6.0 / (192 + 768)) / std::sqrt(3.0);  // deviation
    EXPECT_NEAR(spread(w, "blocks.0.mlp.fc2.weight"), damping * xavier, 0.01 * xavier);
    EXPECT_EQ(w.at("blocks.0.gamma_2").floats()[0], 1.0F);
}

TEST(Initialize, FrozenWeightsAreNotTrainable) {
    const Graph graph = record(configure("cait_xxs24_224", {{"residual_learnable", "false"}}));
    for (const ParamSpec& spec : graph.params)
        EXPECT_EQ(spec.trainable, spec.name.find("gamma") == std::string::npos) << spec.name;
}

TEST(Initialize, SineCosinePositionsAreTheReferences) {
    const auto json = golden::read_json("sincos.json");
    const Graph graph = record(configure(
        "vit_tiny_patch16_224",
        {{"position", "sincos"}, {"dim", "16"}, {"heads", "1"}, {"image_size", "48x80"}}));
    test::CaseCount count(1);
    for (const ParamSpec& spec : graph.params) {
        if (spec.name != "pos_embed") continue;
        ++count;
        EXPECT_FALSE(spec.trainable);
        const Tensor found = initialize(spec, 0);
        ASSERT_EQ(found.shape(), (Shape{1, 1 + 15, 16}));
        const auto expected = json["pos_embed"]["values"].get<std::vector<float>>();
        // The class token's row is zero.
        for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(found.floats()[i], 0.0F);
        const auto grid = found.floats().subspan(16);
        ASSERT_EQ(grid.size(), expected.size());
        EXPECT_LE(test::largest_difference(grid, expected), 1e-6);
    }
}

}  // namespace
}  // namespace cait
