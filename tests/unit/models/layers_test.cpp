// What the models say of their parameters beyond shapes: layers, roles and the grid of patches. The
// reference goes by the official names, which is how other code bases find the same out.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "models/catalogue.h"
#include "support/small_models.h"

namespace cait {
namespace {

// Every preset, and settings that no preset has.
std::vector<std::pair<std::string, SettingList>> all_models() {
    std::vector<std::pair<std::string, SettingList>> models{
        {"cait_xxs24_224", {{"class_stage", "token"}, {"class_insert", "3"}}},
        {"cait_xxs24_224", {{"distill_token", "true"}}},
        {"vit_base_patch16_224", {{"pool", "average"}, {"fc_norm", "true"}}},
        {"resmlp_12_224", {{"communication", "mlp"}, {"pool", "class_mlp"}}},
        {"resmlp_12_224", {{"communication", "separable"}}},
        {"resmlp_12_224", {{"norm", "batchnorm"}, {"norm_place", "post"}}},
        {"resnet50", {{"pool", "attention"}}},
        {"deit_tiny_patch16_224", {{"class_tokens", "2"}, {"norm_place", "post"}}},
        {"cait_xxs24_224", {{"norm_place", "none"}}},
        {"vit_small_patch14_reg4_dinov2", {{"classes", "5"}}},
        {"volo_d1_224", {{"layers", "0,1,2,1"}}}};
    for (const Family& family : test::image_families())
        for (const Preset& preset : family.presets) models.push_back({preset.name, {}});
    return models;
}

// "blocks.3" for "blocks.3.attn.qkv.weight"; empty outside blocks.
std::string block_of(const std::string& name) {
    static const std::regex kBlock(
        R"(^(blocks\.\d+|blocks_token_only\.\d+|network\.\d+\.\d+|post_network\.\d+|)"
        R"(layer\d+\.\d+|s\d+\.b\d+|lca)\..*)");
    std::smatch match;
    return std::regex_match(name, match, kBlock) ? match[1].str() : std::string();
}

bool is_embedding(const std::string& name) {
    return name == "pos_embed" || name == "cls_token" || name == "dist_token" ||
           name == "register_tokens";
}

std::vector<std::int64_t> layers_by_name(const Graph& graph) {
    constexpr std::int64_t kUnknown = -1;
    std::map<std::string, std::int64_t> numbers;  // of blocks, from 1
    std::vector<std::int64_t> layers(graph.params.size(), kUnknown);
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string block = block_of(graph.params[i].name);
        if (!block.empty())
            layers[i] = numbers.emplace(block, std::int64_t(numbers.size()) + 1).first->second;
    }
    std::int64_t next = std::int64_t(numbers.size()) + 1;
    for (std::size_t i = layers.size(); i-- > 0;) {
        if (is_embedding(graph.params[i].name))
            layers[i] = 0;
        else if (layers[i] == kUnknown)
            layers[i] = next == 1 ? 0 : next;
        else
            next = layers[i];
    }
    return layers;
}

TEST(Layers, AreThoseThatTheOfficialNamesTell) {
    for (const auto& [name, settings] : all_models()) {
        const Graph graph = record(configure(name, settings));
        const std::vector<std::int64_t> expected = layers_by_name(graph);
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(graph.params[i].layer, expected[i]) << name << " " << graph.params[i].name;
    }
}

TEST(Layers, CountBlocksBetweenEmbeddingsAndHead) {
    const std::map<std::string, std::int64_t> blocks{{"vit_base_patch16_224", 12},
                                                     {"deit_tiny_distilled_patch16_224", 12},
                                                     {"deit3_small_patch16_18x2", 18},
                                                     {"vit_giant_patch14_reg4_dinov2", 40},
                                                     {"cait_s24_224", 26},
                                                     {"deepvit_16b", 16},
                                                     {"ceit_tiny_patch16_224", 13},
                                                     {"volo_d1_224", 20},
                                                     {"resmlp_24_224", 24},
                                                     {"patchconvnet_s60", 61},
                                                     {"resnet50", 16},
                                                     {"regnety_160", 18}};
    for (const auto& [name, count] : blocks) {
        const Graph graph = record(configure(name));
        EXPECT_EQ(graph.params.front().layer, 0) << name;
        EXPECT_EQ(graph.params.back().layer, count + 1) << name;
    }
}

TEST(Roles, AreThoseThatTheOfficialNamesTell) {
    using Kind = ParamRole::Kind;
    for (const auto& [model, settings] : all_models())
        for (const ParamSpec& spec : record(configure(model, settings)).params) {
            const std::string& name = spec.name;
            const Kind kind = spec.role.kind;
            const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
            ASSERT_EQ(spec.attention, has(".attn.") || has(".attn1.")) << model << " " << name;
            ASSERT_EQ(kind == Kind::position, name == "pos_embed") << model << " " << name;
            ASSERT_EQ(kind == Kind::class_token || kind == Kind::class_tokens, name == "cls_token")
                << model << " " << name;
            ASSERT_EQ(kind == Kind::distill_token, name == "dist_token") << model << " " << name;
            ASSERT_EQ(kind == Kind::register_tokens, name == "register_tokens") << model;
            if (name.starts_with("head.") || name.starts_with("head_second.")) {
                ASSERT_TRUE(kind == Kind::class_head || kind == Kind::class_row) << name;
            }
            if (name.ends_with(".bias")) {
                ASSERT_EQ(spec.shape.rank(), 1U) << name;
            }
        }
}

TEST(PatchGrid, IsThatOfTheTokens) {
    for (const Family& family : test::image_families()) {
        const std::string name = family.presets.front().name;
        SettingList settings{{"image_size", "64x96"}};
        if (family.name == "dinov2") settings.emplace_back("patch", "16");
        ModelSpec spec = configure(name, settings);
        const Graph graph = record(spec, {.taps = {"tokens"}});
        const Grid grid = graph.patch_grid;
        EXPECT_EQ(grid.height * 96, grid.width * 64) << name;
        EXPECT_EQ(graph.node(graph.outputs.at("tokens")).shape[1], grid.count()) << name;
        EXPECT_EQ(record(spec).patch_grid, grid) << name;  // whatever is asked for
        EXPECT_EQ(decompose(graph).patch_grid, grid) << name;
    }
}

}  // namespace
}  // namespace cait
