#include "engine/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cait::engine {
namespace {

using testing::ElementsAre;

View dense(std::vector<Index> extents) {
    View view;
    view.extents = extents;
    view.steps = dense_steps(extents);
    view.image_step = view.count();
    return view;
}

TEST(View, APermutedReshapeOfMapsIsRowsAgain) {
    // [C, H, W] with the channels last, as tokens [H * W, C].
    const View maps = permuted(dense({2, 3, 4}), {2, 0, 1});  // of [H, W, C]
    EXPECT_THAT(maps.extents, ElementsAre(4, 2, 3));
    const auto flat = reshaped(maps, {4, 6});
    ASSERT_TRUE(flat);
    const View tokens = permuted(*flat, {1, 0});
    EXPECT_TRUE(tokens.is_dense());
    const auto rows = as_rows(tokens);
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->rows, 6);
    EXPECT_EQ(rows->ld, 4);
    EXPECT_TRUE(rows->joined);
}

TEST(View, ReshapingAcrossAGapIsRefused) {
    const View part = sliced(dense({4, 6}), 1, 0, 3);
    EXPECT_FALSE(reshaped(part, {12}));
    const auto split = reshaped(part, {2, 2, 3});
    ASSERT_TRUE(split);
    EXPECT_THAT(split->steps, ElementsAre(12, 6, 1));
}

TEST(View, ReshapingMayAddAndDropAxesOfOne) {
    const auto more = reshaped(dense({2, 3}), {1, 2, 1, 3, 1});
    ASSERT_TRUE(more);
    EXPECT_EQ(more->count(), 6);
    EXPECT_TRUE(reshaped(*more, {6}));
}

TEST(View, OneRowAnImageIsARowOfTheBatch) {
    const View token = sliced(dense({5, 8}), 0, 0, 1);  // the class token
    const auto rows = as_rows(token);
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->rows, 1);
    EXPECT_EQ(rows->ld, 40);
    EXPECT_TRUE(rows->joined);
}

TEST(View, RowsOfAPartOfTheTokensAreNotJoined) {
    const auto rows = as_rows(sliced(dense({5, 8}), 0, 1, 5));
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->rows, 4);
    EXPECT_FALSE(rows->joined);
    EXPECT_FALSE(as_rows(permuted(dense({5, 8}), {1, 0})));
}

TEST(View, BroadcastingRepeatsAxesOfOne) {
    View bias;
    bias.memory = View::Memory::fixed;
    bias.extents = {1, 3, 1};
    bias.steps = dense_steps(bias.extents);
    const View wide = broadcast(bias, {3, 4});
    EXPECT_THAT(wide.extents, ElementsAre(3, 4));
    EXPECT_THAT(wide.steps, ElementsAre(1, 0));
}

}  // namespace
}  // namespace cait::engine
