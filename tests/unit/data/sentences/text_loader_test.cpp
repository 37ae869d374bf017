#include "data/sentences/text_loader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "cait/error.h"
#include "unit/data/sentences/support.h"
#include "unit/data/support.h"

namespace cait::text_test {
namespace {

using data_test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

EncodedPairsPtr encoded(std::vector<SentencePair> pairs, int threads = 1) {
    return encode_pairs(std::make_shared<MemoryPairs>(std::move(pairs)), *numbered_words(10),
                        threads);
}

// Pairs of 1 to 20 words.
std::vector<SentencePair> some_pairs(int count) {
    std::vector<SentencePair> pairs;
    for (int i = 0; i < count; ++i)
        pairs.push_back({words(1 + i * 7 % 20, i), words(1 + i * 3 % 20, i + 1)});
    return pairs;
}

TEST(EncodedPairs, KeepPiecesInTheOrderOfTheData) {
    const EncodedPairsPtr pairs = encoded({{"w0 w1", "w2"}, {"w9", "w3 x w3"}});
    ASSERT_EQ(pairs->size(), 2U);
    EXPECT_THAT(pairs->lengths(), ElementsAre(PairLength{3, 2}, PairLength{2, 4}));
    EXPECT_THAT(pairs->source(0), ElementsAre(4, 5));
    EXPECT_THAT(pairs->target(0), ElementsAre(6));
    EXPECT_THAT(pairs->source(1), ElementsAre(13));
    EXPECT_THAT(pairs->target(1), ElementsAre(7, kUnknown, 7));
    EXPECT_EQ(pairs->name(), "memory");
    EXPECT_THROW(pairs->source(2), std::out_of_range);
}

// More than one stretch, by more than one thread.
TEST(EncodedPairs, DoNotDependOnThreads) {
    const std::vector<SentencePair> text = some_pairs(9000);
    const EncodedPairsPtr one = encoded(text), three = encoded(text, 3);
    ASSERT_EQ(one->size(), three->size());
    for (std::size_t i = 0; i < one->size(); ++i) {
        ASSERT_TRUE(std::ranges::equal(one->source(i), three->source(i))) << i;
        ASSERT_TRUE(std::ranges::equal(one->target(i), three->target(i))) << i;
    }
}

TEST(EncodedPairs, NameThePairThatCannotBeRead) {
    std::vector<SentencePair> text = some_pairs(20);
    text[17].target = "\xff";
    text[18].source = "\xff";
    for (const int threads : {1, 4})
        EXPECT_THAT(error_of([&] { encoded(text, threads); }),
                    HasSubstr("pair 17: line: expected UTF-8"));
    class Pictures final : public Dataset {
    public:
        Pictures() : Dataset("pictures", {}) {}
        std::size_t size() const noexcept override { return 1; }
        std::string name(std::size_t) const override { return "picture"; }
        void read(std::size_t, const DecodeOptions&, Image&) const override {}
        std::int64_t label(std::size_t) const override { return 0; }
    };
    EXPECT_THAT(error_of([] { encode_pairs(std::make_shared<Pictures>(), *numbered_words(1)); }),
                HasSubstr("pictures: expected sentences"));
    EXPECT_THAT(error_of([] { Pictures().sentences(0); }),
                HasSubstr("pictures: expected sentences"));
}

TEST(TextLoader, WritesWhatAModelReadsAndShouldAnswer) {
    TextLoaderOptions options;
    options.pieces = 32;
    options.longest = 16;
    options.shuffle = false;
    TextLoader loader(encoded({{"w0 w1", "w2"}, {"w3", "w4 w5 w6"}}), options);
    Batch* const batch = loader.next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->size, 2U);
    EXPECT_EQ(batch->keys.at(0).sample, 0U);
    EXPECT_EQ(batch->keys.at(1).sample, 1U);
    EXPECT_FALSE(batch->storage.defined());
    EXPECT_THAT(batch->inputs, testing::SizeIs(3));
    const auto rows = [](const Tensor& tensor) {
        EXPECT_EQ(tensor.shape(), (Shape{2, 8}));
        return Ids(tensor.integers().begin(), tensor.integers().end());
    };
    EXPECT_EQ(rows(batch->inputs.at("source")),
              (Ids{4, 5, 2, 1, 1, 1, 1, 1, 7, 2, 1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(rows(batch->inputs.at("target")),
              (Ids{2, 6, 1, 1, 1, 1, 1, 1, 2, 8, 9, 10, 1, 1, 1, 1}));
    EXPECT_EQ(rows(batch->targets.at("expected")),
              (Ids{6, 2, 1, 1, 1, 1, 1, 1, 8, 9, 10, 2, 1, 1, 1, 1}));
    EXPECT_THAT(batch->inputs.at("source_mask").floats(),
                ElementsAre(1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0));
    EXPECT_TRUE(batch->last_of_epoch);
    EXPECT_EQ(loader.next(), nullptr);
    EXPECT_THAT(loader.bad_images(), testing::IsEmpty());
}

// No side of a batch is longer than the model can read, although 20 is no multiple of 8.
TEST(TextLoader, PadsNoFurtherThanTheLongest) {
    TextLoaderOptions options;
    options.pieces = 20;
    options.longest = 20;
    std::vector<std::string> notes;
    options.note = [&](const std::string& note) { notes.push_back(note); };
    TextLoader loader(encoded({{words(19), words(18)}, {words(20), "w1"}}), options);
    const Batch* const batch = loader.next();
    EXPECT_EQ(batch->inputs.at("source").shape(), (Shape{1, 20}));
    EXPECT_EQ(batch->inputs.at("target").shape(), (Shape{1, 20}));
    EXPECT_EQ(loader.next(), nullptr);
    EXPECT_THAT(notes,
                ElementsAre("memory: 1 of 2 pairs have more than 20 pieces and are left out"));
}

struct Seen {
    Position position;
    std::vector<std::uint64_t> samples;
    Ids source;
    bool operator==(const Seen&) const = default;
};

std::vector<Seen> rest_of(TextLoader& loader) {
    std::vector<Seen> seen;
    while (const Batch* const batch = loader.next()) {
        Seen one{batch->position, {}, {}};
        for (const SampleKey& key : batch->keys) {
            EXPECT_EQ(key.epoch, batch->position.epoch);
            one.samples.push_back(key.sample);
        }
        const auto source = batch->inputs.at("source").integers();
        one.source.assign(source.begin(), source.end());
        seen.push_back(std::move(one));
    }
    return seen;
}

TEST(TextLoader, GoesOnExactlyWhereItWas) {
    const EncodedPairsPtr pairs = encoded(some_pairs(150));
    TextLoaderOptions options;
    options.pieces = 200;
    options.longest = 24;
    options.epochs = 3;
    options.seed = 4;
    TextLoader whole(pairs, options);
    std::vector<Position> positions = {whole.position()};
    std::vector<Seen> all;
    while (whole.next() != nullptr) positions.push_back(whole.position());
    TextLoader again(pairs, options);
    all = rest_of(again);
    ASSERT_EQ(all.size(), 3 * again.batches().batches());
    ASSERT_EQ(positions.size(), all.size() + 1);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        TextLoaderOptions from = options;
        from.start = positions[i];
        TextLoader loader(pairs, from);
        EXPECT_EQ(loader.position(), positions[i]);
        EXPECT_EQ(rest_of(loader), std::vector<Seen>(all.begin() + std::ptrdiff_t(i), all.end()));
    }
    EXPECT_EQ(positions.back(), (Position{3, 0}));
    // An epoch has each pair once.
    std::vector<std::uint64_t> samples;
    for (const Seen& one : all)
        if (one.position.epoch == 1)
            samples.insert(samples.end(), one.samples.begin(), one.samples.end());
    std::ranges::sort(samples);
    std::vector<std::uint64_t> expected(150);
    std::iota(expected.begin(), expected.end(), 0U);
    EXPECT_EQ(samples, expected);
}

TEST(TextLoader, SaysWhichBatchIsTheLastOfAnEpoch) {
    TextLoaderOptions options;
    options.pieces = 100;
    options.longest = 24;
    options.epochs = 2;
    TextLoader loader(encoded(some_pairs(60)), options);
    std::size_t batches = 0, ends = 0;
    while (const Batch* const batch = loader.next()) {
        ++batches;
        EXPECT_EQ(batch->last_of_epoch, batch->position.batch + 1 == loader.batches().batches());
        ends += batch->last_of_epoch ? 1 : 0;
    }
    EXPECT_EQ(batches, 2 * loader.batches().batches());
    EXPECT_EQ(ends, 2U);
}

TEST(TextLoader, GivesEachProcessItsShare) {
    const EncodedPairsPtr pairs = encoded(some_pairs(90));
    TextLoaderOptions options;
    options.pieces = 320;
    options.longest = 24;
    TextLoader alone(pairs, options);
    options.world = 2;
    TextLoader first(pairs, options);
    options.rank = 1;
    TextLoader second(pairs, options);
    while (const Batch* const batch = alone.next()) {
        const Batch* const shares[] = {first.next(), second.next()};
        ASSERT_EQ(shares[0]->size + shares[1]->size, batch->size);
        for (std::size_t i = 0; i < batch->size; ++i)
            EXPECT_EQ(shares[i % 2]->keys.at(i / 2).sample, batch->keys[i].sample);
    }
    EXPECT_EQ(first.next(), nullptr);
    EXPECT_EQ(second.next(), nullptr);
}

}  // namespace
}  // namespace cait::text_test
