#include "graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "support/batch_axis.h"
#include "support/near.h"
#include "unit/graph/pass_cases.h"

namespace cait {
namespace {

using test::count;

// How many of each there are in a small model: two blocks, or one per stage.
struct Fused {
    std::size_t attention = 0, mlp = 0, patches = 0;
    bool operator==(const Fused&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Fused& f) {
    return out << f.attention << " attention, " << f.mlp << " mlp, " << f.patches << " patches";
}
Fused fused_in(const Graph& graph) {
    return {count<op::AttentionBranch>(graph), count<op::MlpBranch>(graph),
            count<op::PatchEmbed>(graph)};
}

class FusePresets : public testing::TestWithParam<std::string> {};

TEST_P(FusePresets, FusedGraphGivesTheSameOutputs) {
    test::for_pass_cases(GetParam(), [](const test::PassCase& c) {
        const auto found = run_reference(fuse(c.graph), c.images, c.weights);
        ASSERT_EQ(found.size(), c.expected.size());
        for (const auto& [tap, tensor] : found)
            test::expect_close(tensor, c.expected.at(tap), 1e-6, c.preset + " " + tap);
    });
}

// What each family gives to the kernels, recorded and lowered. A number that has to be made smaller
// is speed that was lost. A class layer's attention has queries of its own, so only its MLP is a
// branch. Of parallel branches the first reads what it is added to. DeepViT's maps are normalised
// by a batch norm, which lowering takes away, as it does the factors around the branches of S and
// L. SwiGLU runs as the ops that it is made of.
struct Line {
    Fused recorded, lowered;
};
const std::map<std::string, Line> kLines{
    {"vit", {{2, 2, 1}, {2, 2, 1}}},
    {"deit", {{2, 2, 1}, {2, 2, 1}}},
    {"deit3", {{2, 2, 1}, {2, 2, 1}}},
    {"cait", {{2, 4, 1}, {2, 4, 1}}},
    {"dinov2", {{2, 2, 1}, {2, 2, 1}}},
    {"vit_giant_patch14_dinov2", {{2, 0, 1}, {2, 0, 1}}},
    {"vit_giant_patch14_reg4_dinov2", {{2, 0, 1}, {2, 0, 1}}},
    {"deepvit_l_384", {{0, 0, 1}, {2, 2, 1}}},
    {"deepvit", {{1, 2, 1}, {2, 2, 1}}},
    {"deepvit_s", {{0, 0, 1}, {2, 2, 1}}},
    {"deepvit_l", {{0, 0, 1}, {2, 2, 1}}},
    {"ceit", {{2, 1, 1}, {2, 1, 1}}},
    {"volo", {{3, 6, 2}, {3, 6, 2}}},
    {"resmlp", {{0, 0, 1}, {0, 2, 1}}},
    {"patchconvnet", {{0, 1, 0}, {0, 1, 0}}},
    {"resnet", {{0, 0, 0}, {0, 0, 0}}},
    {"regnet", {{0, 0, 0}, {0, 0, 0}}},
};

TEST_P(FusePresets, BlocksAreFused) {
    for (const test::SmallPreset& preset : test::small_presets()) {
        if (preset.family != GetParam()) continue;
        SCOPED_TRACE(preset.name);
        ASSERT_TRUE(kLines.contains(preset.family)) << "say above what is fused in this family";
        const Line& line =
            kLines.contains(preset.name) ? kLines.at(preset.name) : kLines.at(preset.family);
        const ModelSpec spec = configure(preset.name, preset.settings);
        EXPECT_EQ(fused_in(fuse(record(spec))), line.recorded);
        EXPECT_EQ(fused_in(fuse(record(spec, {.mode = Mode::train}))), line.recorded) << "training";
        EXPECT_EQ(fused_in(fuse(lower(record(spec)))), line.lowered) << "lowered";
    }
}

TEST_P(FusePresets, FusingAgainChangesNothing) {
    for (const test::SmallPreset& preset : test::distinct_small_presets(GetParam())) {
        const ModelSpec spec = configure(preset.name, preset.settings);
        const Graph once = fuse(record(spec, {.mode = Mode::train}));
        EXPECT_EQ(print(fuse(once)), print(once)) << preset.name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, FusePresets, testing::ValuesIn(test::family_names()),
                         [](const auto& i) { return i.param; });

// A branch with something wrong in it.
struct Oddity {
    bool other_norm_input = false, relu = false, tapped_inside = false, read_twice = false,
         dropped = false;
};

Graph mlp_graph(const Oddity& odd = {}, Mode mode = Mode::infer) {
    Builder b({.mode = mode, .taps = {"y", "inside", "beside"}});
    const Value x = b.reshape(b.image(1, {3, 4}), {B, 3, 4});
    const auto scope = b.scope("blocks", 5);
    const Value normed = b.layer_norm("norm", odd.other_norm_input ? b.scale(x, 2) : x, 1e-5);
    Value hidden = b.linear("fc1", normed, 7);
    using Kind = op::Activation::Kind;
    hidden = b.activation(hidden, odd.relu ? Kind::relu : Kind::gelu);
    if (odd.dropped) hidden = b.dropout(hidden, 0.5);
    const Value fed = b.linear("fc2", hidden, 4);
    b.output("inside", odd.tapped_inside ? hidden : x);
    b.output("beside", odd.read_twice ? b.scale(fed, 3) : x);
    b.output("y", b.residual(x, fed, b.param("gain", {4}, Init::ones()), 0.25));
    return b.finish();
}

TEST(Fuse, BranchTakesTheNameAndPlaceOfItsResidual) {
    const Graph recorded = mlp_graph({}, Mode::train);
    const Graph fused = fuse(recorded);
    const Node& residual = recorded.node(recorded.outputs.at("y"));
    const Node& branch = fused.node(fused.outputs.at("y"));
    ASSERT_TRUE(std::holds_alternative<op::MlpBranch>(branch.op));
    EXPECT_EQ(branch.name, "blocks.5.residual");
    EXPECT_EQ(branch.where.line(), residual.where.line());
    const auto& op = std::get<op::MlpBranch>(branch.op);
    EXPECT_EQ(op.epsilon, 1e-5);
    EXPECT_EQ(op.drop_path, 0.25);
    EXPECT_THAT(print(fused),
                testing::HasSubstr("; epsilon=1e-05 bias1 bias2 gain drop_path=0.25)"));
    EXPECT_EQ(count<op::Linear>(fused) + count<op::LayerNorm>(fused), 0U);
}

// Random numbers go by names: taken apart, a branch drops the same images as its residual did.
TEST(Fuse, DecomposedBranchDrawsUnderTheNameOfItsResidual) {
    EXPECT_THAT(print(decompose(fuse(mlp_graph({}, Mode::train)))),
                testing::ContainsRegex("drop_path\\(.*rate=0.25\\) .* blocks.5.residual\n"));
}

TEST(Fuse, LeavesWhatIsReadFromOutsideTheBranch) {
    EXPECT_EQ(count<op::MlpBranch>(fuse(mlp_graph())), 1U);
    EXPECT_EQ(count<op::MlpBranch>(fuse(mlp_graph({.tapped_inside = true}))), 0U);
    EXPECT_EQ(count<op::MlpBranch>(fuse(mlp_graph({.read_twice = true}))), 0U);
}

TEST(Fuse, LeavesWhatIsNoBranch) {
    EXPECT_EQ(count<op::MlpBranch>(fuse(mlp_graph({.other_norm_input = true}))), 0U);
    EXPECT_EQ(count<op::MlpBranch>(fuse(mlp_graph({.relu = true}))), 0U);
    EXPECT_EQ(count<op::MlpBranch>(fuse(mlp_graph({.dropped = true}, Mode::train))), 0U);
}

Graph attention_graph(std::vector<std::int64_t> thirds, std::int64_t width = 12) {
    Builder b({.taps = {"y"}});
    const Value x = b.reshape(b.image(1, {3, 4}), {B, 3, 4});
    const Value qkv = b.linear("qkv", b.layer_norm("norm", x, 1e-6), width, {.bias = false});
    const auto part = [&](std::size_t i) {
        return b.slice(qkv, -1, 4 * thirds[i], 4 * thirds[i] + 4);
    };
    const Affine mix = b.linear_params("mix", 2, 2);
    const Value mixed = b.attention({part(0), part(1), part(2), {}, mix}, 2, 0.5);
    b.output("y", b.residual(x, b.linear("proj", mixed, 4), {}, 0));
    return b.finish();
}

TEST(Fuse, AttentionBranchNeedsQueriesKeysAndValuesInOrder) {
    const Graph fused = fuse(attention_graph({0, 1, 2}));
    EXPECT_THAT(print(fused),
                testing::HasSubstr("heads=2 scale=0.5 mix_after epsilon=1e-06 bias2"));
    EXPECT_EQ(fused.nodes.back().inputs.size(), 8U);  // x, norm, qkv, proj with bias, mix
    EXPECT_EQ(count<op::AttentionBranch>(fuse(attention_graph({1, 0, 2}))), 0U);
    EXPECT_EQ(count<op::AttentionBranch>(fuse(attention_graph({0, 1, 2}, 16))), 0U);
}

Graph conv_graph(const ConvOptions& options, ImageSize size = {8, 12}) {
    Builder b({.taps = {"y"}});
    b.output("y", b.conv2d("proj", b.image(3, size), 5, options));
    return b.finish();
}

TEST(Fuse, ConvolutionOverPatchesIsALinearMap) {
    const Graph graph = conv_graph({.kernel = 4, .stride = 4});
    const Graph fused = fuse(graph);
    EXPECT_EQ(count<op::PatchEmbed>(fused), 1U);
    EXPECT_EQ(count<op::Conv2d>(fused), 0U);
    EXPECT_EQ(fused.node(fused.outputs.at("y")).shape, (Shape{B, 5, 2, 3}));
    const auto has_patches = [](const ConvOptions& options, ImageSize size = {8, 12}) {
        return count<op::PatchEmbed>(fuse(conv_graph(options, size))) == 1;
    };
    EXPECT_TRUE(has_patches({.kernel = 2, .stride = 2, .bias = false}));
    EXPECT_FALSE(has_patches({.kernel = 3, .stride = 2}));
    EXPECT_FALSE(has_patches({.kernel = 4, .stride = 4, .padding = 2}));
    EXPECT_FALSE(has_patches({.kernel = 1, .stride = 1}));
    EXPECT_FALSE(has_patches({.kernel = 4, .stride = 4}, {8, 13}));
}

TEST(Fuse, InferenceFusesConvolutionsMixesAndClassAttention) {
    const auto lowered = [](const char* preset) { return fuse(lower(record(configure(preset)))); };
    const Graph resnet = lowered("resnet50");
    EXPECT_EQ(count<op::ConvUnit>(resnet), 49U);  // all but the four shortcuts'
    EXPECT_EQ(count<op::Conv2d>(resnet), 4U);
    EXPECT_EQ(count<op::Residual>(resnet), 0U);
    EXPECT_EQ(count<op::PatchMix>(lowered("resmlp_12_224")), 12U);
    EXPECT_EQ(count<op::ClassAttention>(lowered("cait_xxs24_224")), 2U);
    EXPECT_EQ(count<op::ClassAttention>(lowered("volo_d1_224")), 2U);
    // A thousand class tokens are no few queries.
    EXPECT_EQ(count<op::ClassAttention>(lowered("patchconvnet_s60_multi")), 0U);
    const Graph training = fuse(record(configure("cait_xxs24_224"), {.mode = Mode::train}));
    EXPECT_EQ(count<op::ClassAttention>(training), 0U);
}

// Two layers on each side. ReLU and norms after the sums run as the ops that they are made of.
TEST(Fuse, TranslatorsGiveTheirMatricesAndMlpsToTheKernels) {
    const auto fused = [](const char* preset, const SettingList& more) {
        SettingList settings = test::kSmallTranslator;
        settings.insert(settings.end(), more.begin(), more.end());
        return fuse(lower(record(configure(preset, settings))));
    };
    const Graph resmlp = fused("resmlp_translate_small", {});
    EXPECT_EQ(count<op::PatchMix>(resmlp), 4U);
    EXPECT_EQ(count<op::MlpBranch>(resmlp), 4U);
    EXPECT_EQ(count<op::MaskedAttention>(resmlp), 2U);
    const Graph transformer =
        fused("transformer_small", {{"post_norm", "false"}, {"activation", "gelu"}});
    EXPECT_EQ(count<op::MlpBranch>(transformer), 4U);
    EXPECT_EQ(count<op::MaskedAttention>(transformer), 6U);
    EXPECT_EQ(count<op::MlpBranch>(fused("transformer_small", {})), 0U);
}

// Tokens and channels-last maps of patches are views of what the linear map gives.
TEST(Fuse, PatchesNeedNoPermutation) {
    for (const char* preset : {"cait_xxs24_224", "volo_d1_224"}) {
        const Graph fused = fuse(record(configure(preset)));
        for (const Node& node : fused.nodes) {
            if (!std::holds_alternative<op::Permute>(node.op)) continue;
            const Node& source = fused.node(node.inputs[0]);
            EXPECT_FALSE(std::holds_alternative<op::PatchEmbed>(source.op)) << preset;
        }
    }
}

}  // namespace
}  // namespace cait
