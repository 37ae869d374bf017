// Decoding piece by piece, with kept state, against decoding all pieces at once; and the beam of
// the engine against a naive one on the latter.
#include "evaluate/translate/text_decoder.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "base/philox.h"
#include "cait/session.h"
#include "evaluate/translate/piece_translator.h"
#include "support/tiny_translator.h"
#include "unit/evaluate/translate/naive_beam.h"

namespace cait {
namespace {

using Pieces = std::vector<std::int64_t>;
constexpr std::int64_t kVocabulary = test::kTinyPieces;

// Sources of these lengths, ends included.
std::vector<Pieces> made_sources(const std::vector<std::size_t>& lengths) {
    std::vector<Pieces> sources;
    RandomStream random(5, "sources");
    for (const std::size_t length : lengths) {
        Pieces source;
        while (source.size() + 1 < length)
            source.push_back(kSpecialPieces +
                             std::int64_t(random.uniform() * float(kVocabulary - 4)));
        source.push_back(kEnd);
        sources.push_back(source);
    }
    return sources;
}

// The log-probabilities after `before`, by the graph that training runs: one sentence, all pieces.
class FullDecoding {
public:
    explicit FullDecoding(const Model& model) : session_(model, {.threads = 1}) {}

    std::vector<double> after(const Pieces& source, const Pieces& before) const {
        Pieces target{kEnd};
        target.insert(target.end(), before.begin(), before.end());
        const auto places = std::int64_t(source.size()), asked = std::int64_t(target.size());
        const std::vector<float> mask(source.size(), 1.0F);
        const NamedInputs<Tensor> inputs{
            {"source", Tensor::of({1, places}, std::span<const std::int64_t>(source))},
            {"source_mask", Tensor::of({1, places}, std::span<const float>(mask))},
            {"target", Tensor::of({1, asked}, std::span<const std::int64_t>(target))}};
        const auto logits = session_.run(inputs, {"logits"}).at("logits");
        const auto last = logits.floats().last(std::size_t(kVocabulary));
        return test::log_softmax({last.begin(), last.end()});
    }

private:
    Session session_;
};

class Mixers : public testing::TestWithParam<const char*> {
protected:
    Model model_ = test::tiny_translator({.mixer = GetParam()});
    TextEngines engines_ = {std::make_shared<const TextEngine>(
        model_, std::make_shared<const EngineShare>(SessionOptions{.threads = 2}))};
};

// All log-probabilities of a slot.
std::vector<double> all_of(const NextPieces& next, std::size_t row) {
    std::vector<double> all(std::size_t(kVocabulary), 0);
    for (const auto& [piece, log_probability] : next.of(row))
        all[std::size_t(piece)] = log_probability;
    EXPECT_EQ(all[kEnd], next.end[row]);
    return all;
}

TEST_P(Mixers, PieceByPieceIsAllAtOnce) {
    const FullDecoding full(model_);
    const std::vector<Pieces> sources = made_sources({5, 12, 1, 9});
    TextDecoder decoder(engines_);
    for (const int turn : {0, 1}) {  // the second batch finds the state of the first
        constexpr std::size_t kSlots = 3;
        TextDecoder::Batch batch{.sources = {}, .beam = kSlots, .attention = turn == 1};
        for (const Pieces& source : sources) batch.sources.emplace_back(source);
        decoder.begin(batch);
        std::vector<std::vector<Pieces>> before(sources.size(), std::vector<Pieces>(kSlots));
        std::vector<std::size_t> alive{0, 1, 2, 3};
        RandomStream random(std::uint64_t(turn), "forced");
        // Beyond 16 places, where the state grows.
        for (std::int64_t place = 0; place < 24; ++place) {
            Pieces given;
            for (const std::size_t i : alive)
                for (Pieces& slot : before[i]) {
                    const std::int64_t piece =
                        place == 0 ? kEnd
                                   : 2 + std::int64_t(random.uniform() * float(kVocabulary - 2));
                    if (place > 0) slot.push_back(piece);
                    given.push_back(piece);
                }
            const NextPieces& next = decoder.step(place, given, std::size_t(kVocabulary));
            ASSERT_EQ(next.most, std::size_t(kVocabulary) - 1);
            for (std::size_t a = 0; a < alive.size(); ++a)
                for (std::size_t slot = 0; slot < kSlots; ++slot) {
                    const auto found = all_of(next, a * kSlots + slot);
                    const auto expected = full.after(sources[alive[a]], before[alive[a]][slot]);
                    for (std::size_t v = 0; v < found.size(); ++v)
                        if (std::int64_t(v) != kPad) {
                            ASSERT_NEAR(found[v], expected[v], 1e-5 * std::max(1.0, -expected[v]))
                                << "sentence " << alive[a] << " place " << place << " piece " << v;
                        }
                }
            if (place == 4) {  // a slot goes on from another, which goes on, too
                const std::vector<StepScorer::Copy> copies{{0, 1, 2}, {3, 0, 1}, {3, 0, 2}};
                decoder.copy(copies);
                for (const auto& [a, from, to] : copies)
                    before[alive[a]][to] = before[alive[a]][from];
            }
            if (place == 6 || place == 18) {  // the last sentence takes the place of the second
                decoder.drop(1);
                alive[1] = alive.back();
                alive.pop_back();
            }
        }
    }
}

TEST_P(Mixers, AttentionIsAMeanOverHeadsThatSumsToOne) {
    const std::vector<Pieces> sources = made_sources({5, 9});
    TextDecoder decoder(engines_);
    decoder.begin({.sources = {sources[0], sources[1]}, .beam = 2, .attention = true});
    const NextPieces& next = decoder.step(0, Pieces{kEnd, kEnd, kEnd, kEnd}, 3);
    ASSERT_EQ(next.places, 16U);
    for (std::size_t row = 0; row < 4; ++row) {
        const auto looked = next.attention_of(row);
        const std::size_t places = sources[row / 2].size();
        float sum = 0;
        for (std::size_t i = 0; i < places; ++i) sum += looked[i];
        EXPECT_NEAR(sum, 1, 1e-5) << row;
        for (std::size_t i = places; i < looked.size(); ++i) EXPECT_NEAR(looked[i], 0, 1e-7);
    }
}

TEST_P(Mixers, TheBeamFindsWhatANaiveOneFinds) {
    const FullDecoding full(model_);
    const PieceTranslator translator(std::span(&model_, 1), {.threads = 2});
    const std::vector<Pieces> sources = made_sources({6, 3, 14, 9, 1, 24});
    const TranslateOptions options{.beam = 4, .length_penalty = 0.8, .best = 4, .longest = 18};
    const auto found = translator.translate(sources, options);
    ASSERT_EQ(found.size(), sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
        SCOPED_TRACE(i);
        const auto expected = test::naive_beam(
            [&](const Pieces& before) { return full.after(sources[i], before); }, 18, 4, 0.8);
        ASSERT_EQ(found[i].size(), expected.size());
        for (std::size_t h = 0; h < expected.size(); ++h) {
            EXPECT_EQ(found[i][h].pieces, expected[h].pieces) << h;
            EXPECT_NEAR(found[i][h].score, expected[h].score, 1e-5) << h;
        }
    }
}

// With one batch for all, one for each and with other threads.
TEST_P(Mixers, ASentenceDoesNotDependOnItsBatch) {
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < 40; ++i) lengths.push_back(1 + i * 7 % 23);
    const std::vector<Pieces> sources = made_sources(lengths);
    const PieceTranslator translator(std::span(&model_, 1), {.threads = 2});
    const auto together = translator.translate(sources, {.pieces = 4096});
    const auto some = translator.translate(sources, {.pieces = 50});
    const PieceTranslator single(std::span(&model_, 1), {.threads = 1});
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto alone = single.translate(std::span(&sources[i], 1), {});
        for (const auto& other : {together[i], some[i]}) {
            ASSERT_EQ(other.size(), alone[0].size());
            EXPECT_EQ(other[0].pieces, alone[0][0].pieces) << i;
            EXPECT_NEAR(other[0].score, alone[0][0].score, 1e-5) << i;
        }
    }
}

TEST_P(Mixers, AnEnsembleIsTheMeanOfProbabilities) {
    const Model second = test::tiny_translator({.mixer = GetParam(), .seed = 2});
    const std::vector<Pieces> sources = made_sources({6, 11});
    const TranslateOptions options{.best = 2, .longest = 10};
    const auto expect_equal = [&](const auto& found, const auto& expected) {
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t h = 0; h < 2; ++h) {
            EXPECT_EQ(found[h].pieces, expected[h].pieces);
            EXPECT_NEAR(found[h].score, expected[h].score, 1e-5);
        }
    };
    const PieceTranslator one(std::span(&model_, 1), {});
    const std::vector<Model> same{model_, model_}, both{model_, second};
    const PieceTranslator twice(same, {}), mean(both, {});
    const FullDecoding of_first(model_), of_second(second);
    const auto alone = one.translate(sources, options);
    const auto doubled = twice.translate(sources, options);
    const auto averaged = mean.translate(sources, options);
    for (std::size_t i = 0; i < sources.size(); ++i) {
        expect_equal(doubled[i], alone[i]);
        auto expected = test::naive_beam(
            [&](const Pieces& before) {
                auto a = of_first.after(sources[i], before);
                const auto b = of_second.after(sources[i], before);
                for (std::size_t v = 0; v < a.size(); ++v)
                    a[v] = std::log((std::exp(a[v]) + std::exp(b[v])) / 2);
                return a;
            },
            10, 4, 1);
        expected.resize(2);
        expect_equal(averaged[i], expected);
    }
    EXPECT_NE(averaged[0][0].score, alone[0][0].score);
}

TEST_P(Mixers, SaysWhatItKeepsAndTakes) {
    const PieceTranslator translator(std::span(&model_, 1), {.threads = 1});
    const std::uint64_t before = translator.kept_bytes();
    EXPECT_GE(before, std::uint64_t(kVocabulary) * 16 * 4);  // the table
    translator.translate(made_sources({20, 20, 20}), {});
    const std::uint64_t after = translator.kept_bytes();
    EXPECT_GT(after, before);
    translator.translate(made_sources({20, 20, 20}), {});
    EXPECT_EQ(translator.kept_bytes(), after);
    const auto bytes = [&](std::size_t lines, std::size_t pieces, std::size_t beam) {
        return translator.bytes_to_translate(lines, pieces, {.beam = beam});
    };
    EXPECT_GT(bytes(1, 20, 4), 0U);
    EXPECT_GT(bytes(8, 20, 4), bytes(1, 20, 4));
    EXPECT_GT(bytes(8, 20, 8), bytes(8, 20, 4));
    EXPECT_LT(bytes(1000000, 20, 1), bytes(100000000, 20, 1));  // results
    EXPECT_GE(bytes(1, 1000000, 4), bytes(1, 20, 4));
}

INSTANTIATE_TEST_SUITE_P(All, Mixers, testing::Values("resmlp", "attention"),
                         [](const auto& i) { return std::string(i.param); });

TEST(PieceTranslator, RefusesWhatMakesNoSense) {
    const Model model = test::tiny_translator();
    const PieceTranslator translator(std::span(&model, 1), {});
    const std::vector<Pieces> fine{{5, kEnd}}, empty{{}}, foreign{{kVocabulary, kEnd}},
        far{Pieces(25, 5)};
    EXPECT_THROW(translator.translate(fine, {.beam = 0}), UsageError);
    EXPECT_THROW(translator.translate(fine, {.beam = 2, .best = 3}), UsageError);
    EXPECT_THROW(translator.translate(fine, {.length_penalty = NAN}), UsageError);
    EXPECT_THROW(translator.translate(empty, {}), Error);
    EXPECT_THROW(translator.translate(foreign, {}), Error);
    EXPECT_THROW(translator.translate(far, {}), Error);
    EXPECT_THROW(translator.translate(fine, {.stop = [] { return true; }}), Error);
    EXPECT_EQ(translator.translate(fine, {}).size(), 1U);  // and goes on
    EXPECT_TRUE(translator.translate({}, {}).empty());
    EXPECT_THROW(PieceTranslator(std::span(&model, 1), {.precision = Precision::int8}), UsageError);
    const Model images = Model::create("resmlp_12_224", {{"image_size", "32"}, {"dim", "8"}});
    EXPECT_THROW(PieceTranslator(std::span(&images, 1), {}), UsageError);
}

TEST(PieceTranslator, RoundsLengthsSoThatFewPlansDo) {
    std::set<std::int64_t> sources, places;
    for (std::int64_t length = 1; length <= 256; ++length) {
        const std::int64_t source = rounded_source(length, 256), past = rounded_past(length, 256);
        EXPECT_GE(source, length);
        EXPECT_GE(past, length);
        EXPECT_LE(source - length, std::max<std::int64_t>(7, length / 4));
        sources.insert(source);
        places.insert(past);
    }
    EXPECT_EQ(sources.size(), 16U);  // 8 to 64 in eights, to 128 in sixteens, to 256 in 32s
    EXPECT_EQ(places.size(), 12U);
    EXPECT_EQ(rounded_source(21, 24), 24);
    EXPECT_EQ(rounded_past(17, 24), 24);
}

}  // namespace
}  // namespace cait
