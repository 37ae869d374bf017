#include "graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "models/catalogue.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The numbers are ids; the output "early" ends in the middle.
Graph small_graph() {
    Builder b({.taps = {"y", "early"}});
    const Value image = b.image(1, {2, 3});                   // 0
    const Value view = b.reshape(image, {Shape::kBatch, 6});  // 1
    const Value early = b.gelu(view);                         // 2
    const Value other = b.scale(view, 2);                     // 3
    const Value moved = b.slice(other, 1, 0, 3);              // 4
    const Value again = b.scale(moved, 3);                    // 5
    b.output("y", b.scale(again, 4));                         // 6
    b.output("early", early);
    return b.finish();
}

TEST(Liveness, EveryResultIsFreedAfterItsLastReader) {
    const Liveness live = liveness(small_graph());
    EXPECT_THAT(live.last_use, ElementsAre(1, 3, 7, 4, 5, 6, 7));
    EXPECT_THAT(live.freed_after, ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(1),
                                              ElementsAre(3), ElementsAre(4), ElementsAre(5)));
}

TEST(Liveness, ReadingAViewReadsItsSource) {
    const Liveness live = liveness(small_graph(), ViewUse::of_source);
    EXPECT_EQ(live.last_use[0], 3U);  // through the reshape
    EXPECT_EQ(live.last_use[3], 5U);  // through the slice
}

TEST(Liveness, OutputsAreKeptAlsoThroughViews) {
    Builder b({.taps = {"y"}});
    const Value x = b.gelu(b.image(1, {2, 2}));
    b.output("y", b.reshape(b.slice(x, 1, 0, 1), {Shape::kBatch, 4}));
    const Graph graph = b.finish();
    EXPECT_THAT(liveness(graph, ViewUse::of_source).last_use, ElementsAre(1, 4, 4, 4));
    EXPECT_THAT(liveness(graph).last_use, ElementsAre(1, 2, 3, 4));
}

TEST(Liveness, EveryNodeOfAModelIsFreedOnceOrIsAnOutput) {
    const Graph graph = record(configure("volo_d1_224"), {.taps = {"logits", "features"}});
    for (const ViewUse views : {ViewUse::own, ViewUse::of_source}) {
        const Liveness live = liveness(graph, views);
        std::vector<int> freed(graph.nodes.size(), 0);
        for (const Node& node : graph.nodes)
            for (const std::size_t id : live.freed_after[node.id]) {
                ++freed[id];
                EXPECT_LE(id, node.id);
            }
        for (const auto& [name, id] : graph.outputs) EXPECT_EQ(freed[id], 0) << name;
        if (views == ViewUse::of_source) continue;  // what an output looks at is kept as well
        EXPECT_EQ(std::ranges::count(freed, 1),
                  std::ptrdiff_t(graph.nodes.size() - graph.outputs.size()));
    }
}

}  // namespace
}  // namespace cait
