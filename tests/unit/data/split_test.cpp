#include "data/split.h"

#include <algorithm>
#include <map>
#include <set>

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::HasSubstr;

std::map<std::int64_t, std::size_t> counts(const std::vector<std::int64_t>& labels,
                                           const std::vector<std::size_t>& indices) {
    std::map<std::int64_t, std::size_t> result;
    for (const std::size_t index : indices) ++result[labels[index]];
    return result;
}

TEST(Split, KeepsTheShareOfEveryClass) {
    std::vector<std::int64_t> labels;
    for (int i = 0; i < 1000; ++i) labels.push_back(i % 10 < 7 ? 0 : i % 10 < 9 ? 1 : 2);
    const SplitIndices split = stratified_split(labels, 0.1, 5);
    EXPECT_EQ(split.held_out.size(), 100U);
    EXPECT_EQ(split.kept.size(), 900U);
    EXPECT_EQ(counts(labels, split.held_out),
              (std::map<std::int64_t, std::size_t>{{0, 70}, {1, 20}, {2, 10}}));
    std::set<std::size_t> all(split.kept.begin(), split.kept.end());
    all.insert(split.held_out.begin(), split.held_out.end());
    EXPECT_EQ(all.size(), 1000U);
    EXPECT_TRUE(std::ranges::is_sorted(split.held_out));
    EXPECT_EQ(stratified_split(labels, 0.1, 5).held_out, split.held_out);
    EXPECT_NE(stratified_split(labels, 0.1, 6).held_out, split.held_out);
}

TEST(Split, HandsOutRemaindersButEmptiesNoClass) {
    // Ten classes of 15: 10 % are 15 images, one or two of each class.
    std::vector<std::int64_t> labels;
    for (int i = 0; i < 150; ++i) labels.push_back(i / 15);
    const SplitIndices split = stratified_split(labels, 0.1, 0);
    EXPECT_EQ(split.held_out.size(), 15U);
    for (const auto& [label, count] : counts(labels, split.held_out)) EXPECT_LE(count, 2U) << label;
    EXPECT_EQ(counts(labels, split.held_out).size(), 10U);
    EXPECT_EQ(counts(labels, stratified_split(labels, 0.99, 0).kept).size(), 10U);
    EXPECT_TRUE(stratified_split(std::vector<std::int64_t>{0, 1, 2}, 0.9, 0).held_out.empty());
}

// It used to leave classes out of a validation that was said to be of every class.
TEST(Split, HoldsOutOneOfEveryClassThatHasTwo) {
    // 90 of class 0, three of each of 1 to 4, two of 5, one of 6.
    std::vector<std::int64_t> labels(90, 0);
    for (const std::int64_t label : {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6})
        labels.push_back(label);
    EXPECT_EQ(
        counts(labels, stratified_split(labels, 0.1, 0).held_out),
        (std::map<std::int64_t, std::size_t>{{0, 9}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}));
}

TEST(Split, RefusesOtherFractions) {
    for (const double fraction : {0.0, 1.0, -0.1, std::nan("")})
        EXPECT_THAT(error_of([&] { stratified_split({}, fraction, 0); }),
                    HasSubstr("between 0 and 1"));
}

}  // namespace
}  // namespace cait::data_test
