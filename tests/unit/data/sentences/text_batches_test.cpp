#include "data/sentences/text_batches.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/philox.h"
#include "cait/error.h"
#include "unit/data/support.h"

namespace cait::text_test {
namespace {

using data_test::error_of;
using data_test::failure_of;
using testing::HasSubstr;

std::vector<PairLength> made_lengths(std::size_t count, std::int32_t most = 60,
                                     std::uint64_t seed = 1) {
    RandomStream random(seed, 0);
    std::vector<PairLength> lengths;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t source = 2 + std::int32_t(random.bits() % std::uint32_t(most - 1));
        const auto change = std::int32_t(random.bits() % 9) - 4;
        lengths.push_back({source, std::clamp(source + change, 2, most)});
    }
    return lengths;
}

std::int64_t padded_pieces(const TextBatchShape& shape) {
    return std::int64_t(shape.sentences) * std::max(shape.source, shape.target);
}

// All pairs of an epoch, batch after batch, of each process.
std::vector<std::vector<std::uint32_t>> all_batches(const std::vector<PairLength>& lengths,
                                                    TextBatchOptions options, std::uint64_t epoch) {
    std::vector<std::vector<std::uint32_t>> batches;
    for (options.rank = 0; options.rank < options.world; ++options.rank) {
        const TextBatches made(lengths, options);
        const auto order = made.order(epoch);
        EXPECT_EQ(order->batches(), made.batches());
        for (std::size_t b = 0; b < order->batches(); ++b) batches.push_back(order->pairs(b));
    }
    return batches;
}

// Known by hand: padded to 8, 8, 16, 16, 24 (no further than 20) and 24; 32 pieces a batch.
TEST(TextBatches, TakePairsOfLikeLength) {
    const std::vector<PairLength> lengths = {{3, 9},  {2, 2},  {20, 5}, {8, 4},
                                             {9, 16}, {7, 21}, {2, 3}};
    const TextBatches batches(lengths, {.pieces = 32, .longest = 20, .shuffle = false});
    EXPECT_EQ(batches.left_out(), 1U);  // the 21
    EXPECT_EQ(batches.pairs(), 6U);
    const auto order = batches.order(0);
    ASSERT_EQ(order->batches(), 3U);
    EXPECT_THAT(order->pairs(0), testing::ElementsAre(1, 3, 6));
    EXPECT_THAT(order->pairs(1), testing::ElementsAre(0, 4));
    EXPECT_THAT(order->pairs(2), testing::ElementsAre(2));
    EXPECT_THAT(batches.shapes(),
                testing::ElementsAre(TextBatchShape{3, 8, 8}, TextBatchShape{2, 16, 16},
                                     TextBatchShape{1, 20, 8}));
    EXPECT_EQ(batches.fullest(), (TextBatchShape{2, 16, 16}));
}

TEST(TextBatches, HoldEveryPairOnceAndNoMorePiecesThanAllowed) {
    for (const std::size_t world : {1U, 2U, 3U})
        for (const std::int64_t pieces : {192, 500, 4096}) {
            const std::vector<PairLength> lengths = made_lengths(1000);
            const TextBatchOptions options{.pieces = pieces, .longest = 60, .world = world};
            const TextBatches made(lengths, options);
            EXPECT_EQ(made.left_out(), 0U);
            for (const TextBatchShape& shape : made.shapes())
                EXPECT_LE(padded_pieces(shape), pieces);
            for (const std::uint64_t epoch : {0U, 1U, 7U}) {
                std::vector<std::uint32_t> seen;
                for (const auto& pairs : all_batches(lengths, options, epoch)) {
                    EXPECT_FALSE(pairs.empty());
                    seen.insert(seen.end(), pairs.begin(), pairs.end());
                }
                ASSERT_EQ(seen.size(), lengths.size());
                EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), lengths.size());
            }
        }
}

// A batch of two processes is one batch that is dealt out: they train as one.
TEST(TextBatches, AreTheSameForAnyNumberOfProcesses) {
    const std::vector<PairLength> lengths = made_lengths(700);
    const TextBatchOptions alone{.pieces = 640, .longest = 60, .seed = 5};
    const auto whole = all_batches(lengths, alone, 3);
    for (const std::size_t world : {2U, 4U}) {
        TextBatchOptions options = alone;
        options.world = world;
        const auto shares = all_batches(lengths, options, 3);
        ASSERT_EQ(shares.size(), whole.size() * world);
        for (std::size_t b = 0; b < whole.size(); ++b)
            for (std::size_t i = 0; i < whole[b].size(); ++i)
                ASSERT_EQ(shares[i % world * whole.size() + b].at(i / world), whole[b][i]);
    }
}

TEST(TextBatches, HaveTheSameShapesInAnotherOrderInEveryEpoch) {
    const std::vector<PairLength> lengths = made_lengths(900);
    const TextBatches batches(lengths, {.pieces = 700, .longest = 60, .seed = 2});
    std::vector<std::vector<std::uint32_t>> first;
    for (const std::uint64_t epoch : {0U, 1U, 2U}) {
        const auto order = batches.order(epoch);
        std::vector<std::vector<std::uint32_t>> pairs;
        std::multiset<std::pair<std::int64_t, std::int64_t>> shapes, expected;
        for (std::size_t b = 0; b < order->batches(); ++b) {
            pairs.push_back(order->pairs(b));
            const TextBatchShape shape = batches.shape(pairs.back());
            shapes.emplace(shape.source * 1000 + shape.target, shape.sentences);
        }
        for (const TextBatchShape& shape : batches.shapes())
            expected.emplace(shape.source * 1000 + shape.target, shape.sentences);
        EXPECT_EQ(shapes, expected);
        if (epoch == 0) {
            first = pairs;
        } else {
            EXPECT_NE(pairs, first);
            // Not only the batches change places: other pairs meet.
            std::ranges::sort(pairs.front());
            for (auto one : first) {
                std::ranges::sort(one);
                EXPECT_NE(one, pairs.front());
            }
        }
    }
}

TEST(TextBatches, DependOnSeedAndEpochAlone) {
    const std::vector<PairLength> lengths = made_lengths(300);
    const auto pairs_of = [&](std::uint64_t seed, std::uint64_t epoch) {
        return all_batches(lengths, {.pieces = 512, .longest = 60, .seed = seed}, epoch);
    };
    EXPECT_EQ(pairs_of(1, 4), pairs_of(1, 4));
    EXPECT_NE(pairs_of(1, 4), pairs_of(2, 4));
    EXPECT_NE(pairs_of(1, 4), pairs_of(1, 5));
    TextBatchOptions still{.pieces = 512, .longest = 60, .shuffle = false};
    EXPECT_EQ(all_batches(lengths, still, 0), all_batches(lengths, still, 9));
}

// 5 pairs of one length, 2 to a batch, 2 processes: one pair cannot be in any batch, another one in
// each epoch.
TEST(TextBatches, LeaveOutWhatDoesNotGoRound) {
    const std::vector<PairLength> lengths(5, PairLength{8, 8});
    const TextBatches batches(lengths, {.pieces = 16, .longest = 8, .world = 2});
    EXPECT_EQ(batches.batches(), 2U);
    EXPECT_EQ(batches.left_out(), 1U);
    EXPECT_EQ(batches.too_long(), 0U);
    std::set<std::uint32_t> missing;
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
        std::set<std::uint32_t> seen;
        for (const auto& pairs : all_batches(lengths, batches.options(), epoch)) {
            EXPECT_EQ(pairs.size(), 1U);
            seen.insert(pairs.begin(), pairs.end());
        }
        EXPECT_EQ(seen.size(), 4U);
        for (std::uint32_t pair = 0; pair < 5; ++pair)
            if (!seen.contains(pair)) missing.insert(pair);
    }
    EXPECT_GT(missing.size(), 1U);
}

// The rest is one pair, for three processes: the batch after it gives two.
TEST(TextBatches, ShareWithABatchThatIsTooSmall) {
    std::vector<PairLength> lengths(8, PairLength{16, 16});
    lengths.push_back({3, 3});
    const TextBatches batches(lengths, {.pieces = 128, .longest = 16, .world = 3});
    EXPECT_EQ(batches.left_out(), 0U);
    EXPECT_THAT(batches.shapes(),
                testing::ElementsAre(TextBatchShape{3, 16, 16}, TextBatchShape{6, 16, 16}));
    EXPECT_EQ(batches.fullest(), (TextBatchShape{2, 16, 16}));
}

TEST(TextBatches, RefuseWhatMakesNoSense) {
    const std::vector<PairLength> lengths = made_lengths(20);
    const auto make = [&](TextBatchOptions options) {
        return failure_of([&] { TextBatches(lengths, options); });
    };
    EXPECT_THAT(make({.pieces = 30, .longest = 60}).message,
                HasSubstr("expected a batch of at least"));
    EXPECT_EQ(make({.pieces = 30, .longest = 60}).kind, ErrorKind::usage);
    EXPECT_THAT(make({.pieces = 64, .longest = 60, .world = 2}).message, HasSubstr("found 64"));
    EXPECT_THAT(make({.rank = 2, .world = 2}).message, HasSubstr("rank 2 of 2"));
    EXPECT_THAT(make({.longest = 1}).message, HasSubstr("longest"));
    const std::vector<PairLength> long_ones(3, PairLength{100, 100});
    EXPECT_THAT(error_of([&] { TextBatches(long_ones, {.longest = 60}); }),
                HasSubstr("found 0 of 3"));
    EXPECT_THAT(error_of([&] { TextBatches({}, {}); }), HasSubstr("found 0 of 0"));
}

}  // namespace
}  // namespace cait::text_test
