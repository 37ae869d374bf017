#include "train/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "graph/initialize.h"
#include "models/catalogue.h"

namespace cait {
namespace {

using testing::HasSubstr;

Graph small(const std::string& model, SettingList settings) {
    return record(configure(model, settings), {.mode = Mode::train});
}

Graph small_cait() {
    return small(
        "cait_xxs24_224",
        {{"image_size", "32"}, {"patch", "8"}, {"dim", "32"}, {"depth", "2"}, {"classes", "5"}});
}

std::map<std::string, TrainParam> by_name(const Graph& graph, const Recipe& recipe) {
    std::map<std::string, TrainParam> result;
    for (TrainParam& param : make_parameters(graph, initialize(graph, 1), recipe))
        result.emplace(param.name, param);
    return result;
}

TEST(Parameters, AreCopiesThatLearn) {
    const Graph graph = small_cait();
    const auto weights = initialize(graph, 1);
    const std::vector<TrainParam> params = make_parameters(graph, weights, Recipe());
    ASSERT_EQ(params.size(), graph.params.size());
    for (const TrainParam& param : params) {
        EXPECT_TRUE(param.value.is_leaf() && param.value.requires_grad()) << param.name;
        EXPECT_NE(param.value.data_ptr(), weights.at(param.name).bytes());
        EXPECT_EQ(param.lr_scale, 1);
    }
    EXPECT_EQ(tensors_of(params).at("head.bias").data_ptr(), params.back().value.data_ptr());
}

TEST(Parameters, VectorsBiasesPositionsAndClassTokensDoNotDecay) {
    const auto params = by_name(small_cait(), Recipe());
    for (const char* name : {"blocks.0.norm1.weight", "blocks.0.attn.qkv.bias", "blocks.0.gamma_1",
                             "pos_embed", "cls_token", "head.bias"})
        EXPECT_FALSE(params.at(name).decay) << name;
    for (const char* name : {"blocks.0.attn.qkv.weight", "blocks.0.attn.proj_l.weight",
                             "patch_embed.proj.weight", "head.weight"})
        EXPECT_TRUE(params.at(name).decay) << name;
}

TEST(Parameters, ScalesOfAnotherTrainingDoNotLearn) {
    Recipe recipe;
    recipe.model.scales = "before.safetensors";
    for (const auto& [name, param] : by_name(small_cait(), recipe))
        EXPECT_EQ(param.trained, name.find("gamma") == std::string::npos) << name;
}

TEST(Parameters, FrozenNormsAreThoseOfTheBackbone) {
    Recipe recipe;
    const Graph graph = small("resnet50", {{"image_size", "64"},
                                           {"width", "4"},
                                           {"blocks", "1,1,1,1"},
                                           {"head.kind", "upernet"},
                                           {"head.width", "8"},
                                           {"head.classes", "3"}});
    const auto learns = [&](const char* name) { return by_name(graph, recipe).at(name).trained; };
    EXPECT_TRUE(learns("layer1.0.bn1.weight"));
    recipe.train.frozen_norms = true;
    EXPECT_FALSE(learns("bn1.bias"));
    EXPECT_FALSE(learns("layer1.0.bn1.weight"));
    EXPECT_FALSE(learns("layer4.0.downsample.1.bias"));
    EXPECT_TRUE(learns("layer1.0.conv1.weight"));
    EXPECT_TRUE(learns("decode_head.bottleneck.bn.weight"));
}

TEST(Parameters, DistillationTokenDecaysByTheOriginalRuleOnly) {
    const Graph graph = small("deit_tiny_distilled_patch16_224", {{"depth", "1"}});
    Recipe recipe;
    EXPECT_TRUE(by_name(graph, recipe).at("dist_token").decay);
    recipe.optim.decay_rule = DecayRule::timm;
    EXPECT_FALSE(by_name(graph, recipe).at("dist_token").decay);
}

TEST(Parameters, AllButVectorsDecayByDinosRule) {
    const Graph graph = small("deit_tiny_distilled_patch16_224", {{"depth", "1"}});
    Recipe recipe;
    recipe.optim.decay_rule = DecayRule::vectors;
    const auto params = by_name(graph, recipe);
    for (const char* name : {"dist_token", "cls_token", "pos_embed", "head.weight"})
        EXPECT_TRUE(params.at(name).decay) << name;
    for (const char* name : {"head.bias", "norm.weight", "blocks.0.attn.qkv.bias"})
        EXPECT_FALSE(params.at(name).decay) << name;
}

TEST(Parameters, EverythingDecaysByTheClassicRule) {
    Recipe recipe;
    recipe.optim.decay_rule = DecayRule::all;
    for (const Graph& graph :
         {small("resnet18", {{"width", "8"}}), small("deit_tiny_patch16_224", {{"depth", "1"}})})
        for (const auto& [name, param] : by_name(graph, recipe))
            EXPECT_TRUE(param.decay || !param.trained) << name;
    EXPECT_TRUE(by_name(small("resnet18", {{"width", "8"}}), recipe).at("bn1.weight").decay);
}

TEST(Parameters, LayersBelowTheHeadLearnSlower) {
    Recipe recipe;
    recipe.optim.layer_decay = 0.5;
    const auto params = by_name(small_cait(), recipe);  // embeddings, 2 + 2 blocks, head
    EXPECT_EQ(params.at("head.weight").lr_scale, 1);
    EXPECT_EQ(params.at("norm.bias").lr_scale, 1);
    EXPECT_EQ(params.at("blocks_token_only.1.attn.q.weight").lr_scale, 0.5);
    EXPECT_EQ(params.at("blocks.1.gamma_2").lr_scale, 0.125);
    EXPECT_EQ(params.at("blocks.0.norm1.weight").lr_scale, 0.0625);
    for (const char* name : {"cls_token", "pos_embed", "patch_embed.proj.bias"})
        EXPECT_EQ(params.at(name).lr_scale, 0.03125) << name;
}

// The layer of a parameter, and the number of layers.
std::pair<std::int64_t, std::int64_t> layer(const Graph& graph, const std::string& name) {
    const std::int64_t last = std::ranges::max(graph.params, {}, &ParamSpec::layer).layer;
    for (const ParamSpec& spec : graph.params)
        if (spec.name == name) return {spec.layer, last + 1};
    ADD_FAILURE() << name;
    return {};
}

TEST(Parameters, EveryFamilyHasItsBlocksFound) {
    using Pair = std::pair<std::int64_t, std::int64_t>;
    const Graph volo = small("volo_d1_224", {{"layers", "1,1,1,1"}});
    EXPECT_EQ(layer(volo, "patch_embed.conv.3.weight"), Pair(0, 8));
    EXPECT_EQ(layer(volo, "network.0.0.attn.v.weight"), Pair(1, 8));
    EXPECT_EQ(layer(volo, "network.1.proj.weight"), Pair(2, 8));  // of the block that it leads to
    EXPECT_EQ(layer(volo, "post_network.1.attn.q.weight"), Pair(6, 8));
    EXPECT_EQ(layer(volo, "aux_head.weight"), Pair(7, 8));
    EXPECT_EQ(layer(small("resnet18", {}), "layer2.1.conv1.weight"), Pair(4, 10));
    EXPECT_EQ(layer(small("regnety_160", {}), "s2.b1.conv1.conv.weight"), Pair(3, 20));
    EXPECT_EQ(layer(small("ceit_tiny_patch16_224", {}), "lca.norm1.weight"), Pair(13, 15));
    const Graph multi =
        small("patchconvnet_s60_multi", {{"depth", "2"}, {"dim", "32"}, {"classes", "3"}});
    EXPECT_EQ(layer(multi, "patch_embed.proj.6.0.weight"), Pair(0, 5));
    EXPECT_EQ(layer(multi, "head.2.weight"), Pair(4, 5));
}

TEST(Parameters, StatisticsAreKeptButNotTrained) {
    const auto params = by_name(small("resnet18", {{"width", "8"}}), Recipe());
    EXPECT_TRUE(params.at("bn1.running_mean").statistic);
    EXPECT_FALSE(params.at("bn1.running_mean").trained);
    EXPECT_FALSE(params.at("bn1.running_mean").value.requires_grad());
    EXPECT_TRUE(params.at("bn1.weight").trained);
}

TEST(Parameters, HeadAloneOrAttentionAloneCanBeTuned) {
    Recipe recipe;
    recipe.train.tune = Tune::head;
    std::set<std::string> trained;
    for (const auto& [name, param] : by_name(small_cait(), recipe)) {
        EXPECT_EQ(param.trained, param.value.requires_grad());
        if (param.trained) trained.insert(name);
    }
    EXPECT_EQ(trained, (std::set<std::string>{"head.weight", "head.bias"}));

    recipe.train.tune = Tune::attention;
    const auto params = by_name(small_cait(), recipe);
    for (const char* name : {"blocks.0.attn.qkv.weight", "blocks_token_only.0.attn.q.bias",
                             "pos_embed", "head.weight"})
        EXPECT_TRUE(params.at(name).trained) << name;
    for (const char* name : {"blocks.0.norm1.weight", "blocks.0.mlp.fc1.weight", "cls_token",
                             "patch_embed.proj.weight", "norm.weight"})
        EXPECT_FALSE(params.at(name).trained) << name;
}

TEST(Parameters, MissingOrMisshapenWeightsAreNamed) {
    const Graph graph = small_cait();
    auto weights = initialize(graph, 1);
    weights["norm.weight"] = Tensor::zeros(DType::f32, {7});
    try {
        make_parameters(graph, weights, Recipe());
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "weights 'norm.weight': expected [32], found [7]");
    }
    weights.erase("norm.weight");
    try {
        make_parameters(graph, weights, Recipe());
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("no weights for 'norm.weight'"));
    }
}

}  // namespace
}  // namespace cait
