// What the golden numbers of ResNet and RegNet leave open: attention pooling, which has no public
// reference, torchvision's names, stochastic depth, and settings that are refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/catalogue.h"

namespace cait {
namespace {

const Shape& output_shape(const Graph& graph, const std::string& tap) {
    return graph.node(graph.outputs.at(tap)).shape;
}

std::string refusal(const std::string& model, const SettingList& settings) {
    try {
        configure(model, settings);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

std::vector<double> convnets_drop_path_rates(const Graph& graph) {
    std::vector<double> rates;
    for (const Node& node : graph.nodes)
        if (const auto* residual = std::get_if<op::Residual>(&node.op))
            rates.push_back(residual->drop_path);
    return rates;
}

TEST(Resnet, AttentionPoolingAsksThePositionsOfTheLastMap) {
    const ModelSpec spec = configure("resnet50", {{"pool", "attention"}, {"classes", "7"}});
    const Graph graph =
        record(spec, {.image_size = ImageSize{224, 160},
                      .taps = {"logits", "features", "tokens", "class_attention.0"}});
    EXPECT_EQ(output_shape(graph, "tokens"), (Shape{Shape::kBatch, 35, 2048}));
    EXPECT_EQ(output_shape(graph, "class_attention.0"), (Shape{Shape::kBatch, 1, 1, 36}));
    EXPECT_EQ(output_shape(graph, "features"), (Shape{Shape::kBatch, 2048}));
    EXPECT_EQ(output_shape(graph, "logits"), (Shape{Shape::kBatch, 7}));
}

TEST(Resnet, AveragePoolingHasNoAttention) {
    EXPECT_THROW(record(configure("resnet50"), {.taps = {"class_attention.0"}}), UsageError);
}

TEST(Convnets, StochasticDepthGrowsToTheLastBlock) {
    const RecordOptions options{.mode = Mode::train, .drop_path = 0.3};
    for (const auto& [model, depth] : {std::pair{"resnet18", 8}, std::pair{"regnety_160", 18}}) {
        const std::vector<double> rates =
            convnets_drop_path_rates(record(configure(model), options));
        ASSERT_EQ(rates.size(), std::size_t(depth)) << model;
        EXPECT_EQ(rates.front(), 0);
        EXPECT_NEAR(rates.back(), 0.3, 1e-12);
        EXPECT_TRUE(std::ranges::is_sorted(rates));
    }
}

TEST(Regnet, EveryParameterHasATorchvisionName) {
    const ModelSpec spec = configure("regnety_160");
    const std::vector<Rename> rules = spec.architecture->renames();
    EXPECT_EQ(to_alias("stem.bn.running_var", rules), "stem.1.running_var");
    EXPECT_EQ(to_alias("s1.b1.downsample.conv.weight", rules),
              "trunk_output.block1.block1-0.proj.0.weight");
    EXPECT_EQ(to_alias("s3.b11.conv2.bn.bias", rules), "trunk_output.block3.block3-10.f.b.1.bias");
    EXPECT_EQ(to_official("trunk_output.block4.block4-0.f.se.fc2.weight", rules),
              "s4.b1.se.fc2.weight");
    EXPECT_EQ(to_official("fc.bias", rules), "head.fc.bias");
    for (const ParamSpec& param : record(spec).params) {
        const std::string theirs = to_alias(param.name, rules);
        EXPECT_NE(theirs, param.name);
        EXPECT_EQ(to_official(theirs, rules), param.name);
    }
}

TEST(Convnets, SettingsThatMakeNoNetworkAreRefusedWithTheRule) {
    EXPECT_EQ(
        refusal("resnet18", {{"blocks", "1,2,3"}}),
        "resnet18: model.blocks: expected 4 whole numbers separated by commas, found '1,2,3'");
    EXPECT_EQ(
        refusal("resnet18", {{"blocks", "1,2,3,4,5"}}),
        "resnet18: model.blocks: expected 4 whole numbers separated by commas, found '1,2,3,4,5'");
    EXPECT_EQ(refusal("resnet18", {{"blocks", "1,1,1,0"}}),
              "resnet18: model.blocks: expected numbers from 1 to 1000000, found '1,1,1,0'");
    EXPECT_EQ(refusal("regnety_160", {{"group", "100"}}),
              "regnety_160: the group must divide the width of every stage: width 224 with group "
              "100");
    EXPECT_EQ(refusal("regnety_160", {{"se_ratio", "0.001"}}),
              "regnety_160: squeeze-excite needs at least one channel: 0.001 of 32 input channels");
}

TEST(Resnet, RulesOfGroupsAndStems) {
    EXPECT_EQ(refusal("resnet18", {{"groups", "2"}}),
              "resnet18: groups are those of bottlenecks: set model.bottleneck=true, or "
              "model.groups=1 and model.group_width=64");
    EXPECT_EQ(refusal("resnext50_32x4d", {{"width", "8"}}),
              "resnext50_32x4d: a group needs at least one channel: width 8 with group_width 4");
    EXPECT_EQ(refusal("resnet50d", {{"stem_kernel", "7"}}),
              "resnet50d: a deep stem is made of 3x3 convolutions: stem_kernel 7");
    EXPECT_EQ(refusal("resnet18", {{"stem_kernel", "5"}}),
              "resnet18: model.stem_kernel: expected 3 or 7, found 5");
    EXPECT_EQ(refusal("resnet18", {{"stem_stride", "3"}}),
              "resnet18: model.stem_stride: expected 1 or 2, found 3");
}

TEST(Resnet, AStemForSmallImagesKeepsTheirSize) {
    const auto grid = [](const SettingList& settings) {
        return record(configure("resnet18", settings), {.image_size = ImageSize{64, 64}})
            .patch_grid.height;
    };
    EXPECT_EQ(grid({}), 2);
    EXPECT_EQ(grid({{"stem_stride", "1"}}), 4);
    EXPECT_EQ(grid({{"stem_stride", "1"}, {"stem_pool", "false"}}), 8);
    EXPECT_EQ(grid({{"stem_kernel", "3"}, {"stem_pool", "false"}}), 4);
}

TEST(Convnets, ListsOfStagesSurviveSavingTheSettings) {
    const ModelSpec spec = configure("regnety_040", {{"depths", "1,2,3,4"}});
    EXPECT_EQ(spec.settings().at("depths"), "1,2,3,4");
    EXPECT_EQ(spec.settings().at("widths"), "128,192,512,1088");
}

}  // namespace
}  // namespace cait
