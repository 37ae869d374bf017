// The beam against one that keeps everything, on a toy whose answers depend on all pieces before.
#include "evaluate/translate/beam_search.h"

#include <gmock/gmock.h>

#include "base/philox.h"
#include "cait/error.h"
#include "unit/evaluate/translate/naive_beam.h"

namespace cait {
namespace {

using Pieces = std::vector<std::int64_t>;

// How likely each piece is after `before`, in a sentence of this number. A louder end makes
// sentences shorter.
std::vector<double> toy_logits(std::size_t sentence, const Pieces& before, std::int64_t vocabulary,
                               double louder_end) {
    std::string purpose = "toy " + std::to_string(sentence);
    for (const std::int64_t piece : before) purpose += " " + std::to_string(piece);
    RandomStream random(7, purpose);
    std::vector<double> logits;
    for (std::int64_t v = 0; v < vocabulary; ++v) logits.push_back(2 * double(random.normal()));
    logits[kEnd] += louder_end;
    return test::log_softmax(logits);
}

// Slots remember what they have read, so that a wrong copy gives wrong answers.
class ToyScorer final : public StepScorer {
public:
    ToyScorer(std::size_t sentences, std::size_t slots, std::int64_t vocabulary, double louder_end)
        : slots_(slots), vocabulary_(vocabulary), louder_end_(louder_end) {
        for (std::size_t i = 0; i < sentences; ++i) numbers_.push_back(i);
        read_.assign(sentences, std::vector<Pieces>(slots));
    }

    std::int64_t vocabulary() const override { return vocabulary_; }

    const NextPieces& step(std::int64_t place, std::span<const std::int64_t> pieces,
                           std::size_t most) override {
        EXPECT_EQ(place, place_++);
        EXPECT_EQ(pieces.size(), numbers_.size() * slots_);
        steps_ += numbers_.size();
        next_.most = std::min(most, std::size_t(vocabulary_) - 1);
        next_.best.clear();
        next_.end.clear();
        next_.places = 2;
        next_.attention.clear();
        for (std::size_t i = 0; i < numbers_.size(); ++i)
            for (std::size_t slot = 0; slot < slots_; ++slot) {
                Pieces& read = read_[i][slot];
                read.push_back(pieces[i * slots_ + slot]);
                const Pieces before(read.begin() + 1, read.end());  // the first one begins
                const auto all = toy_logits(numbers_[i], before, vocabulary_, louder_end_);
                std::vector<NextPiece> sorted;
                for (std::size_t v = 0; v < all.size(); ++v)
                    if (std::int64_t(v) != kPad) sorted.push_back({std::int64_t(v), all[v]});
                std::ranges::stable_sort(sorted, std::greater<>(), &NextPiece::log_probability);
                next_.best.insert(next_.best.end(), sorted.begin(),
                                  sorted.begin() + std::ptrdiff_t(next_.most));
                next_.end.push_back(all[kEnd]);
                next_.attention.push_back(float(numbers_[i]));
                next_.attention.push_back(float(read.back()));
            }
        return next_;
    }

    void copy(std::span<const Copy> copies) override {
        for (const Copy& one : copies) {
            for (const Copy& other : copies)
                EXPECT_FALSE(one.sentence == other.sentence && one.to == other.from);
            read_.at(one.sentence).at(one.to) = read_.at(one.sentence).at(one.from);
        }
    }

    void drop(std::size_t sentence) override {
        numbers_.at(sentence) = numbers_.back();
        read_.at(sentence) = read_.back();
        numbers_.pop_back();
        read_.pop_back();
    }

    std::size_t left() const { return numbers_.size(); }
    std::size_t steps() const { return steps_; }  // of all sentences together

private:
    std::size_t slots_;
    std::int64_t vocabulary_;
    double louder_end_;
    std::vector<std::size_t> numbers_;
    std::vector<std::vector<Pieces>> read_;
    NextPieces next_;
    std::int64_t place_ = 0;
    std::size_t steps_ = 0;
};

struct BeamCase {
    std::size_t beam;
    double penalty;
    std::int64_t vocabulary;
    double louder_end;
};

class Beams : public testing::TestWithParam<BeamCase> {};

TEST_P(Beams, FindWhatANaiveBeamFinds) {
    const auto [beam, penalty, vocabulary, louder_end] = GetParam();
    const std::vector<std::int64_t> longest = {12, 1, 2, 7, 30, 12, 9, 3};
    ToyScorer scorer(longest.size(), beam, vocabulary, louder_end);
    const auto found =
        beam_search(scorer, longest, {.beam = beam, .length_penalty = penalty, .attention = true});
    EXPECT_EQ(scorer.left(), 0U);
    ASSERT_EQ(found.size(), longest.size());
    std::size_t early = 0;
    for (std::size_t i = 0; i < longest.size(); ++i) {
        SCOPED_TRACE(i);
        const auto expected = test::naive_beam(
            [&](const Pieces& before) { return toy_logits(i, before, vocabulary, louder_end); },
            longest[i], beam, penalty);
        ASSERT_EQ(found[i].size(), expected.size());
        for (std::size_t h = 0; h < expected.size(); ++h) {
            EXPECT_EQ(found[i][h].pieces, expected[h].pieces) << h;
            EXPECT_NEAR(found[i][h].score, expected[h].score, 1e-12) << h;
            ASSERT_EQ(found[i][h].log_probabilities.size(), expected[h].positional.size());
            for (std::size_t p = 0; p < expected[h].positional.size(); ++p)
                EXPECT_NEAR(found[i][h].log_probabilities[p], expected[h].positional[p], 1e-12);
            EXPECT_EQ(found[i][h].pieces.back(), kEnd);
            EXPECT_LE(std::int64_t(found[i][h].pieces.size()), longest[i]);
            if (std::int64_t(found[i][h].pieces.size()) < longest[i]) ++early;
            // Each piece has the attention of the slot that it came from: the sentence, and the
            // piece before.
            ASSERT_EQ(found[i][h].attention.size(), 2 * found[i][h].pieces.size());
            for (std::size_t p = 0; p < found[i][h].pieces.size(); ++p) {
                EXPECT_EQ(found[i][h].attention[2 * p], float(i));
                EXPECT_EQ(found[i][h].attention[2 * p + 1],
                          float(p == 0 ? kEnd : found[i][h].pieces[p - 1]));
            }
        }
    }
    EXPECT_GT(early, 0U) << "no hypothesis ended by itself";
}

INSTANTIATE_TEST_SUITE_P(All, Beams,
                         testing::Values(BeamCase{4, 1, 40, 2}, BeamCase{4, 0.6, 40, 3},
                                         BeamCase{1, 1, 20, 3}, BeamCase{2, 0, 9, 1},
                                         BeamCase{5, 1.4, 60, 2.5}, BeamCase{4, 1, 7, 2},
                                         BeamCase{16, 1, 300, 4}),
                         [](const auto& i) {
                             return "case" + std::to_string(i.index) + "beam" +
                                    std::to_string(i.param.beam);
                         });

TEST(BeamSearch, SentencesThatAreDoneAreNotComputedFurther) {
    ToyScorer scorer(2, 3, 20, -50);
    beam_search(scorer, std::vector<std::int64_t>{2, 20}, {.beam = 3});
    EXPECT_EQ(scorer.steps(), 22U);
}

TEST(BeamSearch, CanBeStopped) {
    ToyScorer scorer(1, 2, 20, -50);
    int asked = 0;
    EXPECT_THROW(beam_search(scorer, std::vector<std::int64_t>{100},
                             {.beam = 2, .stop = [&] { return ++asked == 5; }}),
                 Error);
    EXPECT_EQ(scorer.steps(), 4U);
    EXPECT_THROW(beam_search(scorer, {}, {.beam = 0}), UsageError);
}

}  // namespace
}  // namespace cait
