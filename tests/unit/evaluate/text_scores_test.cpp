#include "evaluate/text_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cait/error.h"
#include "evaluate/evaluate_sentences.h"
#include "evaluate/scores.h"
#include "models/finite_logits.h"
#include "models/task.h"

namespace cait {
namespace {

using testing::HasSubstr;

TEST(TextScores, AreMeansOverPiecesAndNotOverSentences) {
    TextScores scores;
    scores.add_pieces(1, 1, 5);
    scores.add_pieces(2, 9, 5);
    EXPECT_DOUBLE_EQ(scores.loss(), 1);
    EXPECT_DOUBLE_EQ(scores.perplexity(), std::exp(1.0));
    EXPECT_EQ(scores.images(), 3U);
    EXPECT_EQ(scores.pieces(), 10U);
    EXPECT_EQ(find_score(scores.scores(), "perplexity")->value, scores.perplexity());
    EXPECT_LT(merit(scores.scores()[0]), 0);
    EXPECT_EQ(scores.counted(), "sentences");
}

TEST(TextScores, OfSeveralProcessesAreThoseOfOne) {
    TextScores first, second;
    first.add_pieces(3, 20, 31.5);
    second.add_pieces(2, 7, 12.25);
    first.merge_packed(second.pack());
    EXPECT_EQ(first.images(), 5U);
    EXPECT_DOUBLE_EQ(first.loss(), 43.75 / 27);
    EXPECT_THROW(first.merge_packed({}), Error);
    std::vector<std::byte> more = second.pack();
    more.push_back({});
    EXPECT_THROW(first.merge_packed(more), Error);
}

TEST(TextScores, AreWhatATranslatorIsMeasuredBy) {
    const Task task{.name = std::string(kTranslate)};
    const MeasurePtr measure = make_measure(task, 1);
    EXPECT_EQ(measure->scores()[0].name, "perplexity");
    EXPECT_EQ(measure->scores()[1].name, "loss");
    EXPECT_THROW(measure->add(0, std::vector<float>{1, 2}, std::vector<std::int64_t>{0}), Error);
}

// Two sentences of three and one pieces, and a model that gives each piece the chance 1/4 where its
// source is 5, and 1/2 where it is 6.
class Sentences final : public BatchSource {
public:
    Sentences() {
        batch_.size = 2;
        batch_.inputs["source"] = Tensor::of({2, 1}, std::vector<std::int64_t>{5, 6});
        batch_.targets["expected"] =
            Tensor::of({2, 3}, std::vector<std::int64_t>{3, 0, 2, 2, 1, 1});
        batch_.keys = {{.sample = 8}, {.sample = 4}};
    }
    Batch* next() override { return left_-- > 0 ? &batch_ : nullptr; }
    Position position() const override { return {}; }
    const std::vector<BadImage>& bad_images() const override { return none_; }

    Batch batch_;

private:
    int left_ = 1;
    std::vector<BadImage> none_;
};

class Chances final : public Executor {
public:
    explicit Chances(float rest = 0) : rest_(rest) {}
    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override {
        EXPECT_EQ(taps, std::vector<std::string>{"logits"});
        std::vector<float> logits;
        for (const std::int64_t source : inputs.at("source").integers())
            for (int piece = 0; piece < 3; ++piece)
                for (int v = 0; v < 4; ++v)
                    logits.push_back(source == 6 && v >= 2 ? -1e9F : 3 + rest_);
        // Of the second sentence only pieces 0 and 1, then 2 in place of 1.
        for (int piece = 0; piece < 3; ++piece)
            std::swap(logits[12 + 4 * piece + 1], logits[12 + 4 * piece + 2]);
        return {{"logits", Tensor::of({2, 3, 4}, logits)}};
    }

private:
    float rest_;
};

TEST(EvaluateSentences, CountsEachPieceThatIsNoPadding) {
    Sentences sentences;
    std::size_t told = 0;
    const TextScores scores =
        evaluate_sentences(Chances(), sentences, [&](std::size_t done) { told = done; });
    EXPECT_EQ(scores.images(), 2U);
    EXPECT_EQ(scores.pieces(), 4U);
    EXPECT_NEAR(scores.loss(), (3 * std::log(4.0) + std::log(2.0)) / 4, 1e-6);
    EXPECT_EQ(told, 2U);
}

TEST(EvaluateSentences, WhatIsNotFiniteNamesTheSentence) {
    Sentences sentences;
    try {
        evaluate_sentences(Chances(INFINITY), sentences);
        ADD_FAILURE();
    } catch (const NonFiniteLogits& error) {
        EXPECT_THAT(error.what(), HasSubstr("sentence 9"));
    }
    Sentences wrong;
    wrong.batch_.targets["expected"] =
        Tensor::of({2, 3}, std::vector<std::int64_t>{4, 0, 2, 2, 1, 1});
    EXPECT_THROW(evaluate_sentences(Chances(), wrong), Error);
    Sentences long_ones;
    long_ones.batch_.targets["expected"] =
        Tensor::of({2, 2}, std::vector<std::int64_t>{3, 0, 2, 2});
    EXPECT_THROW(evaluate_sentences(Chances(), long_ones), Error);
}

}  // namespace
}  // namespace cait
