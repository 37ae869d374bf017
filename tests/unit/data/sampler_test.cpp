#include "data/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/random.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::size_t> samples(const Sampler& sampler, std::uint64_t epoch) {
    const auto order = sampler.order(epoch);
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < order->size(); ++i) result.push_back((*order)[i].sample);
    return result;
}

SamplerOptions options(std::size_t size, std::size_t batch = 1) {
    SamplerOptions result;
    result.size = size;
    result.batch = batch;
    return result;
}

TEST(Sampler, IsAPermutationThatDependsOnSeedAndEpochAlone) {
    SamplerOptions o = options(1000);
    std::vector<std::size_t> first = samples(Sampler(o), 0);
    EXPECT_EQ(first, samples(Sampler(o), 0));
    EXPECT_NE(first, samples(Sampler(o), 1));
    o.seed = 1;
    EXPECT_NE(first, samples(Sampler(o), 0));
    std::ranges::sort(first);
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], i);
    o.shuffle = false;
    EXPECT_TRUE(std::ranges::is_sorted(samples(Sampler(o), 5)));
}

// Held fast: a checkpoint from today has to resume with the same order tomorrow.
TEST(Sampler, OrderIsFixedForGood) {
    SamplerOptions o = options(10);
    o.seed = 42;
    EXPECT_THAT(samples(Sampler(o), 3), ElementsAre(3, 0, 2, 5, 6, 4, 7, 1, 9, 8));
}

TEST(Sampler, EveryPlaceIsEquallyLikely) {
    // Chi-square of "sample s at place p" over 6000 epochs of 6: 25 degrees of freedom.
    constexpr std::size_t kSize = 6;
    constexpr int kEpochs = 6000;
    std::map<std::pair<std::size_t, std::size_t>, int> counts;
    const Sampler sampler(options(kSize));
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
        const auto order = samples(sampler, std::uint64_t(epoch));
        for (std::size_t place = 0; place < kSize; ++place) ++counts[{place, order[place]}];
    }
    double chi_square = 0;
    const double expected = double(kEpochs) / kSize;
    for (std::size_t place = 0; place < kSize; ++place)
        for (std::size_t sample = 0; sample < kSize; ++sample)
            chi_square += std::pow(counts[{place, sample}] - expected, 2) / expected;
    EXPECT_LT(chi_square, 52.6);  // p = 0.001
}

TEST(Sampler, ProcessesShareAnEpoch) {
    for (const Tail tail : {Tail::drop, Tail::keep, Tail::wrap}) {
        SamplerOptions o = options(103, 4);
        o.world = 4;
        o.tail = tail;
        std::multiset<std::size_t> seen;
        std::set<std::size_t> sizes;
        for (o.rank = 0; o.rank < o.world; ++o.rank) {
            const Sampler sampler(o);
            for (const std::size_t sample : samples(sampler, 2)) seen.insert(sample);
            sizes.insert(sampler.epoch_size());
            EXPECT_EQ(sampler.batches(), tail == Tail::drop ? 6U : 7U);
        }
        const std::set<std::size_t> distinct(seen.begin(), seen.end());
        if (tail == Tail::drop) {
            EXPECT_THAT(sizes, ElementsAre(25));
            EXPECT_EQ(distinct.size(), 100U);
        } else {
            EXPECT_EQ(distinct.size(), 103U);
            EXPECT_EQ(seen.size(), tail == Tail::keep ? 103U : 104U);
            if (tail == Tail::wrap) {
                EXPECT_THAT(sizes, ElementsAre(26));
            }
        }
    }
}

TEST(Sampler, TheLastBatchMayBeSmaller) {
    SamplerOptions o = options(10, 4);
    o.tail = Tail::keep;
    const Sampler sampler(o);
    EXPECT_EQ(sampler.batches(), 3U);
    EXPECT_EQ(sampler.batch_size(0), 4U);
    EXPECT_EQ(sampler.batch_size(2), 2U);
    o.tail = Tail::drop;
    EXPECT_EQ(Sampler(o).batches(), 2U);
}

TEST(Sampler, KeepsTheLastBatchAsLargeInEveryProcess) {
    SamplerOptions o = options(47, 8);
    o.tail = Tail::last;
    EXPECT_EQ(Sampler(o).batches(), 6U);
    EXPECT_EQ(Sampler(o).last_batch(), 7U);
    EXPECT_EQ(Sampler(o).left_out(), 0U);
    o.pairs = true;  // one image has no partner
    EXPECT_EQ(Sampler(o).last_batch(), 6U);
    EXPECT_EQ(Sampler(o).left_out(), 1U);
    o.world = 2;
    EXPECT_EQ(Sampler(o).batches(), 3U);
    EXPECT_EQ(Sampler(o).batch_size(2), 6U);
    EXPECT_EQ(Sampler(o).last_batch(), 12U);
    EXPECT_EQ(Sampler(o).left_out(), 3U);
    o.tail = Tail::drop;
    EXPECT_EQ(Sampler(o).batches(), 2U);
    EXPECT_EQ(Sampler(o).last_batch(), 16U);
    EXPECT_EQ(Sampler(o).left_out(), 15U);
}

// Every batch has the images that one process would have, and each the one at the mirrored place.
TEST(Sampler, DealsPairsToTheSameProcess) {
    SamplerOptions alone = options(52, 12);
    alone.tail = Tail::last;
    alone.pairs = true;
    for (const std::size_t world : {1U, 2U, 3U}) {
        SamplerOptions o = alone;
        o.world = world;
        o.batch = alone.batch / world;
        const auto whole = Sampler(alone).order(1);
        std::multiset<std::size_t> seen;
        for (o.rank = 0; o.rank < world; ++o.rank) {
            const Sampler sampler(o);
            const Deal deal{o.rank, world, true};
            const auto order = sampler.order(1);
            for (std::size_t b = 0; b < 4; ++b)
                for (std::size_t i = 0; i < o.batch; ++i) {
                    const std::size_t place = deal.place(i, o.batch);
                    EXPECT_EQ((*order)[b * o.batch + i], (*whole)[b * alone.batch + place]);
                    EXPECT_EQ(deal.place(o.batch - 1 - i, o.batch), alone.batch - 1 - place);
                    seen.insert((*order)[b * o.batch + i].sample);
                }
        }
        EXPECT_EQ(seen.size(), 48U);
        EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 48U);
    }
    alone.batch = 7;
    EXPECT_THAT(error_of([&] { Sampler{alone}; }), HasSubstr("expected an even number of images"));
}

// DeiT's RASampler: three copies in a row, dealt to the processes in turn, about a third of the
// images per epoch.
TEST(Sampler, RepeatsAugmentationAsDeiTDoes) {
    SamplerOptions o = options(1000, 8);
    o.repeats = 3;
    o.world = 4;
    std::set<std::size_t> distinct;
    std::map<std::size_t, std::set<std::size_t>> ranks_of_sample;
    std::vector<std::vector<Pick>> picks(o.world);
    for (o.rank = 0; o.rank < o.world; ++o.rank) {
        const Sampler sampler(o);
        EXPECT_EQ(sampler.epoch_size(), 192U);  // floor(1000 // 256 * 256 / 4)
        const auto order = sampler.order(0);
        for (std::size_t i = 0; i < order->size(); ++i) {
            picks[o.rank].push_back((*order)[i]);
            distinct.insert((*order)[i].sample);
            ranks_of_sample[(*order)[i].sample].insert(o.rank);
        }
    }
    EXPECT_EQ(distinct.size(), 256U);  // 4 * 192 / 3
    for (const auto& [sample, ranks] : ranks_of_sample) EXPECT_EQ(ranks.size(), 3U);
    // Position 0 of the four processes: copies 0, 1, 2 of the first image, then the second.
    EXPECT_EQ(picks[0][0].sample, picks[2][0].sample);
    EXPECT_EQ(picks[2][0].copy, 2U);
    EXPECT_NE(picks[3][0].sample, picks[0][0].sample);
    EXPECT_EQ(picks[3][0].copy, 0U);

    o.rank = 0;
    o.world = 1;
    EXPECT_EQ(Sampler(o).epoch_size(), 768U);
    o.size = 100;
    EXPECT_EQ(Sampler(o).epoch_size(), 100U);
}

TEST(Sampler, StaysWithinStretches) {
    SamplerOptions o = options(40);
    o.stretches = {0, 10, 20, 30};
    o.window = 10;
    const auto order = samples(Sampler(o), 0);
    EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 40U);
    EXPECT_FALSE(std::ranges::is_sorted(order));
    std::set<std::size_t> stretches;
    for (std::size_t window = 0; window < 4; ++window) {
        std::set<std::size_t> inside;
        for (std::size_t i = 0; i < 10; ++i) inside.insert(order[window * 10 + i] / 10);
        EXPECT_EQ(inside.size(), 1U);
        stretches.insert(*inside.begin());
    }
    EXPECT_EQ(stretches.size(), 4U);
    EXPECT_NE(order, samples(Sampler(o), 1));
}

TEST(Sampler, RefusesNonsense) {
    const auto message = [](SamplerOptions o) {
        const Failure failure = failure_of([&] { Sampler{o}; });
        EXPECT_EQ(failure.kind, ErrorKind::usage);
        return failure.message;
    };
    EXPECT_THAT(message(options(0)), HasSubstr("at least one sample"));
    EXPECT_THAT(message(options(5, 0)), HasSubstr("batch: expected at least 1"));
    EXPECT_THAT(message(options(5, 6)), HasSubstr("a batch of 6 is larger than an epoch of 5"));
    SamplerOptions o = options(5);
    o.rank = o.world = 2;
    EXPECT_THAT(message(o), HasSubstr("found rank 2 of 2"));
    o = options(5);
    o.repeats = 0;
    EXPECT_THAT(message(o), HasSubstr("repeats"));
    o = options(5);
    o.stretches = {1};
    EXPECT_THAT(message(o), HasSubstr("stretches"));
}

}  // namespace
}  // namespace cait::data_test
