#include "evaluate/metrics.h"

#include <cmath>
#include <limits>

#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

using Labels = std::vector<std::int64_t>;

const double kLn2 = std::log(2.0);
const std::vector<float> kQuarterHalfQuarter{0, float(kLn2), 0};  // softmax 1/4, 1/2, 1/4

// Two classes, of which the first has probability p.
std::vector<float> with_probability(double p) { return {float(std::log(p / (1 - p))), 0}; }

TEST(Metrics, CountsTop1AndMeansTheLoss) {
    Metrics metrics(3);
    EXPECT_EQ(metrics.add(0, kQuarterHalfQuarter, 1), 1);
    EXPECT_EQ(metrics.add(1, kQuarterHalfQuarter, 0), 1);
    EXPECT_EQ(metrics.images(), 2U);
    EXPECT_DOUBLE_EQ(metrics.top1(), 0.5);
    EXPECT_DOUBLE_EQ(metrics.top5(), 1);
    EXPECT_NEAR(metrics.loss(), (kLn2 + 2 * kLn2) / 2, 1e-7);
    EXPECT_NEAR(metrics.ece(), 0, 1e-7);  // half of the answers right, at confidence 1/2
}

TEST(Metrics, WithoutImagesEverythingIsZero) {
    const Metrics metrics(2);
    EXPECT_EQ(metrics.top1() + metrics.top5() + metrics.loss() + metrics.ece(), 0);
    EXPECT_EQ(metrics.mean_class_accuracy(), 0);
    EXPECT_TRUE(metrics.worst().empty());
}

TEST(Metrics, OfEqualLogitsTheFirstComesFirst) {
    const std::vector<float> equal(7, 1.0F);
    Metrics metrics(7);
    EXPECT_EQ(metrics.add(0, equal, 0), 0);
    for (std::int64_t label = 1; label < 7; ++label) EXPECT_EQ(metrics.add(1, equal, label), 0);
    EXPECT_DOUBLE_EQ(metrics.top1(), 1.0 / 7);
    EXPECT_DOUBLE_EQ(metrics.top5(), 5.0 / 7);  // labels 0 to 4
}

TEST(Metrics, LogitsEndWhereTheyEndWhateverLiesBehindThem) {
    const std::vector<float> memory{5, 4, 3, 2, 1, 100};
    Metrics metrics(5);
    EXPECT_EQ(metrics.add(0, std::span(memory).first(5), 4), 0);
    EXPECT_DOUBLE_EQ(metrics.top5(), 1);
}

TEST(Metrics, CalibrationErrorByHand) {
    Metrics metrics(2);
    metrics.add(0, with_probability(0.9), 0);   // right, bin 13: 12/15·… up to 14/15
    metrics.add(1, with_probability(0.9), 1);   // wrong
    metrics.add(2, with_probability(0.62), 0);  // right, bin 9
    const auto& bins = metrics.reliability();
    EXPECT_EQ(bins[13].images, 2U);
    EXPECT_EQ(bins[13].correct, 1U);
    EXPECT_NEAR(bins[13].confidence(), 0.9, 1e-7);
    EXPECT_EQ(bins[9].images, 1U);
    EXPECT_NEAR(metrics.ece(), 2.0 / 3 * (0.9 - 0.5) + 1.0 / 3 * (1 - 0.62), 1e-7);
}

TEST(Metrics, ABinEndsWithItsUpperEdge) {
    Metrics thirds(3);
    thirds.add(0, std::vector<float>(3, 0.0F), 0);  // confidence 5/15
    EXPECT_EQ(thirds.reliability()[4].images, 1U);
    Metrics sure(2);
    sure.add(0, std::vector<float>{1000, 0}, 0);  // confidence 1
    EXPECT_EQ(sure.reliability()[14].images, 1U);
}

TEST(Metrics, AnyOfSeveralLabelsIsRight) {
    Metrics metrics(3);
    metrics.add(0, kQuarterHalfQuarter, Labels{0, 1});
    EXPECT_DOUBLE_EQ(metrics.top1(), 1);
    EXPECT_NEAR(metrics.loss(), -std::log(0.75), 1e-7);
    EXPECT_EQ(metrics.per_class()[1].correct, 1U);  // counts for the one that was predicted
    EXPECT_TRUE(metrics.several_labels());

    metrics.add(1, kQuarterHalfQuarter, Labels{2, 0});  // neither is predicted
    EXPECT_DOUBLE_EQ(metrics.top1(), 0.5);
    EXPECT_EQ(metrics.per_class()[2].images, 1U);
    EXPECT_EQ(metrics.count(2, 1), 1U);

    metrics.add(2, kQuarterHalfQuarter, Labels{});
    EXPECT_EQ(metrics.images(), 2U);
    EXPECT_EQ(metrics.unlabelled(), 1U);
    EXPECT_DOUBLE_EQ(metrics.top1(), 0.5);
}

TEST(Metrics, ARepeatedLabelCountsOnce) {
    Metrics metrics(3);
    metrics.add(0, kQuarterHalfQuarter, Labels{2, 2});
    EXPECT_NEAR(metrics.loss(), 2 * kLn2, 1e-7);
}

TEST(Metrics, Top5WithSeveralLabelsTakesTheBest) {
    const std::vector<float> falling{7, 6, 5, 4, 3, 2, 1};
    Metrics metrics(7);
    metrics.add(0, falling, Labels{6, 4});
    EXPECT_DOUBLE_EQ(metrics.top5(), 1);
    metrics.add(1, falling, Labels{5, 6});
    EXPECT_DOUBLE_EQ(metrics.top5(), 0.5);
}

TEST(Metrics, AHopelessLossStaysFinite) {
    Metrics metrics(2);
    metrics.add(0, std::vector<float>{0, 2000}, 0);
    EXPECT_DOUBLE_EQ(metrics.loss(), 2000);
}

TEST(Metrics, CountsClassesAndConfusions) {
    Metrics metrics(3);
    const auto answer = [&](std::int64_t label, std::size_t says) {
        std::vector<float> logits(3);
        logits[says] = 5;
        metrics.add(0, logits, label);
    };
    answer(0, 0);
    answer(0, 2);
    answer(0, 2);
    answer(2, 1);
    EXPECT_EQ(metrics.count(0, 0), 1U);
    EXPECT_EQ(metrics.count(0, 2), 2U);
    EXPECT_EQ(metrics.count(1, 2), 0U);
    EXPECT_THAT(metrics.confusions(), ElementsAre(Confusion{0, 2, 2}, Confusion{2, 1, 1}));
    EXPECT_DOUBLE_EQ(metrics.per_class()[0].accuracy(), 1.0 / 3);
    EXPECT_EQ(metrics.per_class()[1].images, 0U);
    EXPECT_DOUBLE_EQ(metrics.mean_class_accuracy(), (1.0 / 3 + 0) / 2);  // class 1 has no images
}

TEST(Metrics, KeepsTheMostConfidentMistakes) {
    Metrics metrics(2, 2);
    metrics.add(10, with_probability(0.7), 1);
    metrics.add(11, with_probability(0.99), 0);  // right
    metrics.add(12, with_probability(0.9), 1);
    metrics.add(14, with_probability(0.8), 1);
    metrics.add(13, with_probability(0.9), 1);
    const std::vector<Mistake> worst = metrics.worst();
    ASSERT_EQ(worst.size(), 2U);
    EXPECT_EQ(worst[0].index, 12U);  // of equals the one that comes first in the data set
    EXPECT_EQ(worst[1].index, 13U);
    EXPECT_EQ(worst[0].predicted, 0);
    EXPECT_EQ(worst[0].label, 1);
    EXPECT_NEAR(worst[0].confidence, 0.9, 1e-7);
}

// Answers of all kinds, the same for the same index.
void add_some(Metrics& metrics, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
        std::vector<float> logits(metrics.classes());
        for (std::size_t c = 0; c < logits.size(); ++c)
            logits[c] = float((i * 7919 + c * 104729) % 1009) / 250;
        Labels labels{std::int64_t(i % logits.size())};
        if (i % 5 == 0) labels.push_back(std::int64_t((i + 3) % logits.size()));
        if (i % 11 == 0) labels.clear();
        metrics.add(i, logits, labels);
    }
}

void expect_equal(const Metrics& a, const Metrics& b) {
    EXPECT_EQ(a.images(), b.images());
    EXPECT_EQ(a.unlabelled(), b.unlabelled());
    EXPECT_EQ(a.several_labels(), b.several_labels());
    EXPECT_DOUBLE_EQ(a.top1(), b.top1());
    EXPECT_DOUBLE_EQ(a.top5(), b.top5());
    EXPECT_NEAR(a.loss(), b.loss(), 1e-12);
    EXPECT_NEAR(a.ece(), b.ece(), 1e-12);
    EXPECT_DOUBLE_EQ(a.mean_class_accuracy(), b.mean_class_accuracy());
    EXPECT_EQ(a.confusions(), b.confusions());
    EXPECT_EQ(a.worst(), b.worst());
}

TEST(Metrics, PartsOfSeveralProcessesMergeToTheWhole) {
    Metrics whole(9, 7);
    add_some(whole, 0, 200);
    Metrics first(9, 7);
    Metrics second(9, 7);
    Metrics third(9, 7);
    add_some(second, 0, 61);
    add_some(first, 61, 150);
    add_some(third, 150, 200);
    first.merge(Metrics::unpack(second.pack()));
    first.merge(third);
    expect_equal(first, whole);
    EXPECT_GT(whole.worst().size(), 5U);
    EXPECT_THAT(error_of([&] { first.merge(Metrics(8)); }), HasSubstr("expected 9 classes"));
}

TEST(Metrics, OnlyWholePacksAreUnpacked) {
    Metrics metrics(4, 3);
    add_some(metrics, 0, 30);
    const std::vector<std::byte> bytes = metrics.pack();
    expect_equal(Metrics::unpack(bytes), metrics);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_THROW(Metrics::unpack(std::span(bytes).first(size)), Error) << size;
    std::vector<std::byte> longer = bytes;
    longer.push_back({});
    EXPECT_THROW(Metrics::unpack(longer), Error);
}

TEST(Metrics, RefusesWhatCannotBeCounted) {
    Metrics metrics(2);
    const auto error = [&](const std::vector<float>& logits, std::int64_t label) {
        return error_of([&] { metrics.add(17, logits, label); });
    };
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(error({0, kNan}, 0), HasSubstr("image 17: logit 1: expected a finite number"));
    EXPECT_THAT(error({INFINITY, 0}, 0), HasSubstr("found inf"));
    EXPECT_THAT(error({0, 1, 2}, 0), HasSubstr("expected 2 logits, found 3"));
    EXPECT_THAT(error({0, 1}, 2), HasSubstr("expected a label below 2, found 2"));
    EXPECT_THAT(error({0, 1}, -1), HasSubstr("found -1"));
    EXPECT_EQ(metrics.images(), 0U);
    EXPECT_THROW(Metrics(0), Error);
}

TEST(Metrics, KeepsTheLikeliestAnswersOfEveryImage) {
    Metrics metrics(6);
    metrics.add(7, std::vector<float>{0, 3, 1, 3, 2, -1}, 0);
    metrics.add(2, std::vector<float>{0, 0, 0, 0, 0, 9}, std::span<const std::int64_t>());
    std::vector<int> order;
    for (const RankedClass& answer : metrics.answers(0)) order.push_back(answer.index);
    EXPECT_EQ(order, (std::vector<int>{1, 3, 4, 2, 0}));
    EXPECT_EQ(metrics.answers(0)[0].probability, metrics.answers(0)[1].probability);
    EXPECT_NEAR(metrics.answers(1)[0].probability, 1, 1e-3);
    EXPECT_THROW(metrics.answers(2), Error);
    Metrics two(2);
    two.add(0, std::vector<float>{1, 2}, 1);
    EXPECT_EQ(two.answers(0).size(), 2U);
}

}  // namespace
}  // namespace cait
