#include "engine/arena.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace cait::engine {
namespace {

TEST(Arena, BuffersThatLiveOneAfterTheOtherShareTheirMemory) {
    const ArenaLayout layout = lay_out({{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {100, 3, 4}});
    EXPECT_EQ(layout.floats, 2 * 112);  // two at a time, in whole cache lines
}

TEST(Arena, BuffersThatLiveTogetherNeverOverlap) {
    RandomStream random(1, "arena");
    const auto draw = [&](float most) { return std::size_t(random.uniform() * most); };
    for (int round = 0; round < 50; ++round) {
        std::vector<Lifetime> buffers;
        for (int i = 0; i < 40; ++i) {
            const std::size_t first = draw(30);
            buffers.push_back({kernels::Index(1 + draw(500)), first, first + draw(8)});
        }
        const ArenaLayout layout = lay_out(buffers);
        for (std::size_t a = 0; a < buffers.size(); ++a) {
            EXPECT_EQ(layout.offsets[a] % 16, 0);
            EXPECT_LE(layout.offsets[a] + buffers[a].floats, layout.floats);
            for (std::size_t b = 0; b < a; ++b) {
                const bool together =
                    buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
                const bool apart = layout.offsets[a] + buffers[a].floats <= layout.offsets[b] ||
                                   layout.offsets[b] + buffers[b].floats <= layout.offsets[a];
                EXPECT_TRUE(!together || apart) << a << " and " << b;
            }
        }
    }
}

}  // namespace
}  // namespace cait::engine
