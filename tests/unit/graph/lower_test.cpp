#include "graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "graph/builder.h"
#include "support/batch_axis.h"
#include "support/near.h"
#include "unit/graph/pass_cases.h"

namespace cait {
namespace {

using test::count;

// Operations on activations, weights computed before.
Graph run_time(const Graph& graph) {
    return compute_constants(graph, test::lively_weights(graph)).graph;
}

class LowerPresets : public testing::TestWithParam<std::string> {};

TEST_P(LowerPresets, LoweredGraphGivesTheSameOutputs) {
    test::for_pass_cases(GetParam(), [](const test::PassCase& c) {
        const Graph lowered = lower(c.graph);
        const ComputedConstants computed = compute_constants(lowered, c.weights);
        const auto expect_same = [&](const std::map<std::string, Tensor>& found) {
            ASSERT_EQ(found.size(), c.expected.size());
            for (const auto& [tap, tensor] : found)
                test::expect_close(tensor, c.expected.at(tap), 1e-5, c.preset + " " + tap);
        };
        expect_same(run_reference(lowered, c.images, c.weights));
        expect_same(run_reference(fuse(computed.graph), c.images, computed.weights));
    });
}

TEST_P(LowerPresets, NothingIsLeftForTheActivationsThatWeightsCanDo) {
    for (const test::SmallPreset& preset : test::distinct_small_presets(GetParam())) {
        SCOPED_TRACE(preset.name);
        const Graph graph = record(configure(preset.name, preset.settings));
        const Graph lowered = run_time(lower(graph));
        EXPECT_EQ(count<op::BatchNorm>(lowered), 0U);
        for (const Node& node : lowered.nodes) {
            if (const auto* op = std::get_if<op::Attention>(&node.op)) {
                EXPECT_EQ(op->scale, 1) << node.name;
            }
            // ResMLP's gain is of channels and its linear map of patches.
            if (std::holds_alternative<op::Residual>(node.op) && preset.family != "resmlp") {
                EXPECT_EQ(node.inputs.size(), 2U) << node.name;
            }
        }
        EXPECT_LE(lowered.nodes.size(), graph.nodes.size());
    }
}

INSTANTIATE_TEST_SUITE_P(All, LowerPresets, testing::ValuesIn(test::family_names()),
                         [](const auto& i) { return i.param; });

// The outputs of a small graph and of its lowered form; returns what is left at run time.
Graph expect_same(const Graph& graph) {
    const WeightMap weights = test::lively_weights(graph);
    Shape shape = graph.node(0).shape.with_batch(3);
    Tensor images = Tensor::empty(DType::f32, shape);
    RandomStream random(4, "images");
    for (float& value : images.mutable_floats()) value = random.normal();
    const auto expected = run_reference(graph, images, weights);
    const auto found = run_reference(lower(graph), images, weights);
    for (const auto& [name, tensor] : expected)
        test::expect_close(found.at(name), tensor, 2e-6, name);
    return run_time(lower(graph));
}

TEST(Lower, BatchNormGoesIntoTheConvolutionBeforeIt) {
    for (const bool bias : {true, false}) {
        Builder b({.taps = {"y"}});
        const Value x = b.conv2d("conv", b.image(4, {5, 5}), 6,
                                 {.kernel = 3, .stride = 2, .groups = 2, .bias = bias});
        b.output("y", b.batch_norm("bn", x));
        const Graph left = expect_same(b.finish());
        EXPECT_EQ(left.nodes.size(), 4U);  // image, weight, bias, convolution
        EXPECT_EQ(count<op::Conv2d>(left), 1U);
    }
}

TEST(Lower, BatchNormWithoutOneBecomesAnAffineMap) {
    Builder b({.taps = {"y"}});
    b.output("y", b.batch_norm("bn", b.gelu(b.image(2, {3, 3}))));
    const Graph left = expect_same(b.finish());
    EXPECT_EQ(count<op::BatchNorm>(left), 0U);
    EXPECT_EQ(count<op::Mul>(left), 1U);
    EXPECT_EQ(count<op::Add>(left), 1U);
}

TEST(Lower, FactorsAndShiftsGoIntoTheLinearMapBeforeThem) {
    Builder b({.taps = {"y"}});
    const Value x = b.linear("fc", b.image(1, {2, 4}), 3, {.bias = false});
    const Value scaled = b.mul(b.param("a", {3}, Init::ones()), x);
    const Value shifted = b.add(scaled, b.param("c", {3}, Init::zeros()));
    b.output("y", b.scale(b.mul(shifted, b.param("s", {1}, Init::ones())), 0.5));
    const Graph left = expect_same(b.finish());
    EXPECT_EQ(left.nodes.size(), 4U);
    EXPECT_EQ(count<op::Linear>(left), 1U);
}

TEST(Lower, AnAffineMapGoesIntoTheLinearMapBehindIt) {
    for (const bool bias : {true, false}) {
        Builder b({.taps = {"y"}});
        const Value x = b.gelu(b.image(1, {2, 4}));
        const Value scaled = b.mul(x, b.param("a", {4}, Init::ones()));
        const Value shifted = b.add(scaled, b.param("c", {4}, Init::zeros()));
        b.output("y", b.linear("fc", shifted, 3, {.bias = bias}));
        const Graph left = expect_same(b.finish());
        EXPECT_EQ(count<op::Mul>(left) + count<op::Add>(left), 0U);
    }
}

TEST(Lower, GainIsFoundBehindViews) {
    Builder b({.taps = {"y"}});
    const Value image = b.image(3, {4, 4});
    const Value maps = b.conv2d("conv", image, 3, {.kernel = 3, .padding = 1});
    const auto tokens = [&](Value v) { return b.permute(b.reshape(v, {B, 3, 16}), {0, 2, 1}); };
    b.output("y", b.residual(tokens(image), tokens(maps), b.param("g", {3}, Init::ones()), 0));
    const Graph left = expect_same(b.finish());
    EXPECT_EQ(left.node(left.outputs.at("y")).inputs.size(), 2U);
}

TEST(Lower, FactorBeforeALayerNormIsAMatterOfItsEpsilon) {
    Builder b({.taps = {"y"}});
    b.output("y", b.layer_norm("norm", b.scale(b.gelu(b.image(1, {2, 6})), 0.5), 1e-2));
    const Graph left = expect_same(b.finish());
    EXPECT_EQ(count<op::Scale>(left), 0U);
    EXPECT_DOUBLE_EQ(std::get<op::LayerNorm>(left.nodes.back().op).epsilon, 4e-2);
}

// x, a linear map of it and something of that map; `tap` reads what is between the two.
Graph watched(bool tapped, bool read_twice) {
    Builder b({.taps = {"y", "between"}});
    const Value image = b.image(1, {2, 4});
    const Value x = b.linear("fc", image, 4);
    b.output("between", tapped ? x : read_twice ? b.gelu(x) : image);
    b.output("y", b.residual(image, x, b.param("g", {4}, Init::ones()), 0));
    return b.finish();
}

TEST(Lower, LeavesAloneWhatIsReadInAnotherWay) {
    const auto gains = [](const Graph& graph) {
        const Graph left = expect_same(graph);
        return left.node(left.outputs.at("y")).inputs.size() - 2;
    };
    EXPECT_EQ(gains(watched(false, false)), 0U);
    EXPECT_EQ(gains(watched(true, false)), 1U);
    EXPECT_EQ(gains(watched(false, true)), 1U);
}

// DeepViT's re-attention: softmax, mix, batch norm, factor and values become one attention.
TEST(Lower, AMapThatOnlyItsValuesMeetIsAttention) {
    const auto graph = [](const std::vector<std::string>& taps) {
        return record(configure("deepvit_16b", test::kSmall), {.taps = taps});
    };
    EXPECT_EQ(count<op::Attention>(graph({"logits"})), 0U);
    const Graph left = run_time(lower(graph({"logits"})));
    EXPECT_EQ(count<op::Attention>(left), 2U);
    EXPECT_EQ(count<op::AttentionMap>(left), 0U);
    const Graph tapped = run_time(lower(graph({"logits", "self_attention.1"})));
    EXPECT_EQ(count<op::Attention>(tapped), 1U);
    EXPECT_EQ(count<op::AttentionMap>(tapped), 1U);
}

// The class token's row reads the queries, too.
TEST(Lower, ScaleStaysWhereTheQueriesAreReadTwice) {
    const auto scales = [](const std::vector<std::string>& taps) {
        const Graph graph = record(configure("vit_tiny_patch16_224", test::kSmall), {.taps = taps});
        std::vector<double> found;
        for (const Node& node : lower(graph).nodes)
            if (const auto* op = std::get_if<op::Attention>(&node.op)) found.push_back(op->scale);
        return found;
    };
    EXPECT_THAT(scales({"logits"}), testing::ElementsAre(1, 1));
    EXPECT_THAT(scales({"logits", "class_attention.0"}), testing::ElementsAre(testing::Lt(1), 1));
}

TEST(Lower, RefusesAGraphForTraining) {
    const Graph graph = record(configure("deit_tiny_patch16_224"), {.mode = Mode::train});
    EXPECT_THROW(lower(graph), Error);
}

}  // namespace
}  // namespace cait
