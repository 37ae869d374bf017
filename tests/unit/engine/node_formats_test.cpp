#include "engine/node_formats.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "cait/error.h"
#include "cait/session.h"
#include "engine/plan.h"
#include "support/small_models.h"
#include "unit/data/support.h"

namespace cait::engine {
namespace {

using data_test::error_of;
using kernels::Format;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Graph runnable(const std::string& model, const SettingList& settings = {}) {
    return runnable_graph(record(configure(model, settings)));
}

// Nodes of this format by the first words of their names.
std::size_t count_of(const std::map<std::string, Format>& formats, const std::string& begin,
                     Format format) {
    return std::size_t(std::ranges::count_if(formats, [&](const auto& one) {
        return one.first.starts_with(begin) && one.second == format;
    }));
}

TEST(NodeFormats, BlocksAreInt8AndTheRestIsNot) {
    const auto formats = node_formats(runnable("cait_xxs24_224"), {Format::s8});
    EXPECT_EQ(count_of(formats, "blocks.", Format::s8), 48U);  // two branches each
    EXPECT_EQ(count_of(formats, "blocks_token_only.", Format::s8), 0U);
    EXPECT_EQ(count_of(formats, "patch_embed.", Format::s8), 0U);
    EXPECT_EQ(count_of(formats, "head", Format::s8), 0U);
    EXPECT_EQ(count_of(formats, "", Format::s8), 48U);
}

TEST(NodeFormats, OtherPrecisionsHaveOneFormat) {
    for (const Format format : {Format::f32, Format::bf16})
        for (const auto& [name, found] : node_formats(runnable("volo_d1_224"), {format}))
            EXPECT_EQ(found, format) << name;
}

TEST(NodeFormats, PatternsKeepNodesByTheirParameters) {
    const Graph graph = runnable("cait_xxs24_224");
    const auto formats = node_formats(graph, {Format::s8, {"blocks.0.*", "blocks.2[0-3].mlp.*"}});
    EXPECT_EQ(count_of(formats, "", Format::s8), 48U - 2 - 4);
    EXPECT_EQ(count_of(formats, "blocks.0.", kernels::companion(Format::s8)), 2U);
}

// A batch norm is folded into the filters before it: both names mean the convolution.
TEST(NodeFormats, PatternsKnowWhatWasFolded) {
    const Graph graph = runnable("resnet50");
    const std::size_t all = count_of(node_formats(graph, {Format::s8}), "", Format::s8);
    EXPECT_EQ(all, 52U);  // 53 convolutions, of which one reads the image
    for (const char* pattern : {"layer1.0.conv1.weight", "layer1.0.bn1.weight"})
        EXPECT_EQ(count_of(node_formats(graph, {Format::s8, {pattern}}), "", Format::s8), all - 1)
            << pattern;
}

TEST(NodeFormats, APatternThatMatchesNothingIsAnError) {
    EXPECT_THAT(error_of([] {
                    node_formats(runnable("cait_xxs24_224"), {Format::s8, {"block.0.*"}});
                }),
                HasSubstr("quantize.keep: expected patterns of parameter names"));
    EXPECT_THROW(patterns_of("a,,b"), UsageError);
    EXPECT_EQ(patterns_of("a.*,b"), (std::vector<std::string>{"a.*", "b"}));
}

TEST(NodeFormats, NamesTheWeightsThatInt8Reads) {
    const auto cait = quantized_params(runnable("cait_xxs24_224"), {Format::s8});
    EXPECT_EQ(cait.size(), 24U * 4);
    EXPECT_THAT(cait, Contains("blocks.7.attn.qkv.weight"));
    EXPECT_THAT(cait, Contains("blocks.7.mlp.fc2.weight"));
    EXPECT_THAT(cait, Not(Contains("blocks.7.attn.proj_l.weight")));  // talking heads
    const auto resnet = quantized_params(runnable("resnet50"), {Format::s8});
    EXPECT_EQ(resnet.size(), 52U);
    EXPECT_THAT(resnet, Contains("layer1.0.downsample.0.weight"));
}

TEST(NodeFormats, KeptNodesAreComputedBeside) {
    SettingList settings = test::kSmall;
    settings.emplace_back("residual_init", "1");  // so that what blocks compute is seen in the logits
    const Model model = Model::create("cait_xxs24_224", settings, 5);
    const Tensor images = test::random_images(model.spec(), 2);
    const auto logits = [&](const SessionOptions& options) {
        return Session(model, options).run(images).at("logits");
    };
    const bool narrow = kernels::companion(Format::s8) == Format::bf16;
    const Tensor beside = logits({.precision = narrow ? Precision::bf16 : Precision::fp32});
    const Tensor kept = logits({.precision = Precision::int8, .keep = {"*"}});
    const Tensor whole = logits({.precision = Precision::int8});
    EXPECT_TRUE(std::ranges::equal(kept.floats(), beside.floats()));
    EXPECT_FALSE(std::ranges::equal(whole.floats(), beside.floats()));
    EXPECT_THAT(error_of([&] { logits({.precision = Precision::bf16, .keep = {"*"}}); }),
                HasSubstr("quantize.keep: expected precision int8, found bf16"));
    EXPECT_THAT(error_of([&] { logits({.precision = Precision::int8, .keep = {"none"}}); }),
                HasSubstr("matches none"));
}

}  // namespace
}  // namespace cait::engine
