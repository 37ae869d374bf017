#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"

namespace cait {
namespace {

// Two outputs behind one another, so that dropping one leaves something to prune.
Graph two_outputs() {
    Builder b({.taps = {"first", "second"}});
    const Value x = b.image(1, {2, 2});
    const Value first = b.gelu(x);
    b.output("first", first);
    b.output("second", b.mul(first, b.param("w", {2}, Init::ones())));
    return b.finish();
}

TEST(Prune, DropsWhatNoOutputNeedsAndNumbersTheRestAnew) {
    Graph graph = two_outputs();
    ASSERT_EQ(graph.nodes.size(), 4U);
    graph.outputs.erase("first");
    EXPECT_EQ(prune(graph).nodes.size(), 4U);  // the second output reads the first

    graph = two_outputs();
    graph.outputs.erase("second");
    const Graph pruned = prune(graph);
    ASSERT_EQ(pruned.nodes.size(), 2U);
    EXPECT_EQ(pruned.outputs.at("first"), 1U);
    EXPECT_EQ(pruned.nodes[1].id, 1U);
    EXPECT_THAT(pruned.nodes[1].inputs, testing::ElementsAre(0U));
}

// Loading and costs go by a model's parameters, whatever is asked of it.
TEST(Prune, KeepsAllParametersAndTheMode) {
    Graph graph = two_outputs();
    graph.outputs.erase("second");
    graph.mode = Mode::train;
    graph.left_out = {"head"};
    const Graph pruned = prune(graph);
    ASSERT_EQ(pruned.params.size(), 1U);
    EXPECT_EQ(pruned.params[0].name, "w");
    EXPECT_EQ(pruned.mode, Mode::train);
    EXPECT_THAT(pruned.left_out, testing::ElementsAre("head"));
}

TEST(Prune, KeepsNamesAndPlaces) {
    const Graph graph = two_outputs();
    EXPECT_EQ(print(prune(graph)), print(graph));
    EXPECT_EQ(prune(graph).node(1).where.line(), graph.node(1).where.line());
}

}  // namespace
}  // namespace cait
