// What golden/steps_test.cpp cannot say of MixToken's boxes: where they fall.
#include "train/objectives/mix_token.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

TEST(MixToken, BoxesLieInTheGridAndCoverWhatTheShareSays) {
    const Grid grid{14, 10};
    RandomStream random(3, "boxes");
    double exchanged = 0;
    std::vector<int> corners(4);
    constexpr int kBoxes = 4000;
    for (int i = 0; i < kBoxes; ++i) {
        const GridBox box = draw_token_box(1, grid, random);
        ASSERT_GE(box.top, 0);
        ASSERT_GE(box.left, 0);
        ASSERT_LE(box.top + box.height, grid.height);
        ASSERT_LE(box.left + box.width, grid.width);
        exchanged += exchanged_share(box, grid) / kBoxes;
        corners[0] += box.count() > 0 && box.top == 0;
        corners[1] += box.count() > 0 && box.left == 0;
        corners[2] += box.count() > 0 && box.top + box.height == grid.height;
        corners[3] += box.count() > 0 && box.left + box.width == grid.width;
    }
    // Half of the grid, less what the border cuts off and the rounding to whole places.
    EXPECT_GT(exchanged, 0.20);
    EXPECT_LT(exchanged, 0.35);
    for (const int count : corners) EXPECT_GT(count, kBoxes / 5);
}

TEST(MixToken, NoShareIsLeftWithTheWholeGridAndAllWithNone) {
    EXPECT_EQ(token_box(0, {4, 6}, 2, 3), (GridBox{0, 0, 4, 6}));
    EXPECT_EQ(exchanged_share(token_box(0, {4, 6}, 2, 3), {4, 6}), 1);
    EXPECT_EQ(token_box(1, {4, 6}, 2, 3).count(), 0);
    EXPECT_EQ(exchanged_share({}, {4, 6}), 0);
}

}  // namespace
}  // namespace cait
