#include "graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

using testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Builder, NamesParametersByScope) {
    Builder b({});
    const Value x = b.reshape(b.image(3, {2, 2}), {Shape::kBatch, 12});
    {
        const auto block = b.scope("blocks", 7);
        const auto attn = b.scope("attn");
        b.output("logits", b.linear("qkv", x, 5));
    }
    const Graph graph = b.finish();
    ASSERT_EQ(graph.params.size(), 2U);
    EXPECT_EQ(graph.params[0].name, "blocks.7.attn.qkv.weight");
    EXPECT_EQ(graph.params[0].shape, (Shape{5, 12}));
    EXPECT_EQ(graph.params[1].name, "blocks.7.attn.qkv.bias");
}

TEST(Builder, ErrorNamesOpScopeAndModelLine) {
    Builder b({});
    const Value x = b.image(3, {4, 4});
    const auto scope = b.scope("blocks", 2);
    const Affine wrong = b.linear_params("fc", 99, 5);
    const std::string message = message_of([&] { b.linear(x, wrong); });
    EXPECT_THAT(message, HasSubstr("[linear] expected input features 99, got [B, 3, 4, 4]"));
    EXPECT_THAT(message, HasSubstr("blocks.2"));
    EXPECT_THAT(message, HasSubstr("builder_test.cpp:"));
}

TEST(Builder, RefusesAParameterDeclaredTwice) {
    Builder b({});
    b.param("w", {1}, Init::zeros());
    EXPECT_THAT(message_of([&] { b.param("w", {1}, Init::zeros()); }), HasSubstr("'w'"));
}

TEST(Builder, UnknownTapListsTheKnownOnes) {
    Builder b({.taps = {"logitz"}});
    b.output("logits", b.image(1, {1, 1}));
    EXPECT_THAT(message_of([&] { b.finish(); }), HasSubstr("'logitz'; this model has: logits"));
}

TEST(Builder, WhatNobodyAsksForIsNotRecorded) {
    Builder b({});
    const Value x = b.image(1, {2, 2});
    b.output("expensive", [&]() -> Value { throw Error("must not be computed"); });
    b.gelu(x);  // dead
    b.output("logits", b.scale(x, 2));
    const Graph graph = b.finish();
    EXPECT_EQ(graph.nodes.size(), 2U);
    EXPECT_EQ(op_name(graph.node(graph.outputs.at("logits")).op), "scale");
}

TEST(Builder, TappedAttentionIsRecordedAsMapAndApply) {
    const auto ops = [](std::vector<std::string> taps) {
        Builder b({.taps = std::move(taps)});
        const Value x = b.reshape(b.image(1, {3, 4}), {Shape::kBatch, 3, 4});
        b.output("logits", b.attention({x, x, x, {}, {}}, 2, 1.0, "self_attention.0"));
        std::vector<std::string> names;
        for (const Node& node : b.finish().nodes) names.emplace_back(op_name(node.op));
        return names;
    };
    EXPECT_THAT(ops({"logits"}), testing::ElementsAre("input", "reshape", "attention"));
    EXPECT_THAT(ops({"logits", "self_attention.0"}),
                testing::ElementsAre("input", "reshape", "attention_map", "attention_apply"));
}

TEST(Builder, StochasticDepthIsForTrainingOnly) {
    const auto rate = [](Mode mode) {
        Builder b({.mode = mode});
        const Value x = b.image(1, {2, 2});
        b.output("logits", b.residual(x, x, {}, 0.25));
        const Graph graph = b.finish();
        return std::get<op::Residual>(graph.nodes.back().op).drop_path;
    };
    EXPECT_EQ(rate(Mode::train), 0.25);
    EXPECT_EQ(rate(Mode::infer), 0);
}

TEST(Builder, DropoutIsForTrainingOnly) {
    const auto ops = [](Mode mode, double rate) {
        Builder b({.mode = mode});
        b.output("logits", b.dropout(b.image(1, {2, 2}), rate));
        std::vector<std::string> names;
        for (const Node& node : b.finish().nodes) names.emplace_back(op_name(node.op));
        return names;
    };
    EXPECT_THAT(ops(Mode::train, 0.25), testing::ElementsAre("input", "dropout"));
    EXPECT_THAT(ops(Mode::train, 0), testing::ElementsAre("input"));
    EXPECT_THAT(ops(Mode::infer, 0.25), testing::ElementsAre("input"));
}

TEST(Builder, DroppedAttentionWeightsAreTappedBeforeTheyAreDropped) {
    const auto graph = [](Mode mode, std::vector<std::string> taps) {
        Builder b({.mode = mode, .taps = std::move(taps)});
        const Value x = b.reshape(b.image(1, {3, 4}), {Shape::kBatch, 3, 4});
        b.output("logits", b.attention({x, x, x, {}, {}, 0.1}, 2, 1.0, "self_attention.0"));
        return b.finish();
    };
    const auto names = [](const Graph& g) {
        std::vector<std::string> result;
        for (const Node& node : g.nodes) result.emplace_back(op_name(node.op));
        return result;
    };
    EXPECT_THAT(names(graph(Mode::infer, {"logits"})),
                testing::ElementsAre("input", "reshape", "attention"));
    const Graph training = graph(Mode::train, {"logits", "self_attention.0"});
    EXPECT_THAT(names(training), testing::ElementsAre("input", "reshape", "attention_map",
                                                      "dropout", "attention_apply"));
    EXPECT_EQ(training.outputs.at("self_attention.0"), 2U);
    EXPECT_EQ(std::get<op::Dropout>(training.node(3).op).rate, 0.1);
}

TEST(Builder, WhatAConfigurationLeavesOutIsKnownToEveryFormOfTheGraph) {
    Builder b({});
    {
        const auto scope = b.scope("stage", 1);
        b.leave_out("head");
    }
    b.output("logits", b.image(1, {1, 1}));
    const Graph graph = b.finish();
    EXPECT_THAT(graph.left_out, testing::ElementsAre("stage.1.head"));
    EXPECT_EQ(decompose(graph).left_out, graph.left_out);
}

}  // namespace
}  // namespace cait
