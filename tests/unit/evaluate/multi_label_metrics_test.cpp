#include "evaluate/multi_label_metrics.h"

#include <cmath>

#include "evaluate/metrics.h"
#include "golden/golden_case.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

const Task kHalf{std::string(kMultiLabel), 0.5};

nlohmann::json sklearn() { return golden::read_json("multi_label.json"); }

// The images from `first` on, of which there are `step` shares.
MultiLabelMetrics collected(const nlohmann::json& numbers, double threshold, std::size_t first = 0,
                            std::size_t step = 1) {
    MultiLabelMetrics metrics(6, {std::string(kMultiLabel), threshold});
    for (std::size_t i = first; i < numbers["logits"].size(); i += step) {
        const auto logits = numbers["logits"][i].get<std::vector<float>>();
        const auto row = numbers["labels"][i].get<std::vector<int>>();
        std::vector<std::int64_t> labels;
        for (std::size_t c = 0; c < row.size(); ++c)
            if (row[c] == 1) labels.push_back(std::int64_t(c));
        metrics.add(i, logits, labels);
    }
    return metrics;
}

TEST(MultiLabelMetrics, EqualScikitLearns) {
    const nlohmann::json numbers = sklearn();
    for (const nlohmann::json& at : numbers["thresholds"]) {
        const MultiLabelMetrics metrics = collected(numbers, at["threshold"]);
        EXPECT_EQ(metrics.images(), 40U);
        EXPECT_NEAR(metrics.mean_average_precision(), numbers["map"], 1e-9);
        EXPECT_NEAR(metrics.loss(), numbers["loss"], 1e-6);
        EXPECT_NEAR(metrics.f1(), at["f1"], 1e-9);
        EXPECT_NEAR(metrics.macro_f1(), at["macro_f1"], 1e-9);
        EXPECT_NEAR(metrics.exact_match(), at["exact_match"], 1e-9);
        EXPECT_EQ(metrics.classes_without_positives(), 1U);
        for (std::size_t c = 0; c < 6; ++c) {
            EXPECT_NEAR(metrics.per_class()[c].precision(), at["precision"][c], 1e-9);
            EXPECT_NEAR(metrics.per_class()[c].recall(), at["recall"][c], 1e-9);
            EXPECT_NEAR(metrics.average_precision_of(c),
                        c < 5 ? numbers["ap"][c].get<double>() : 0.0, 1e-9);
        }
    }
}

// By hand: of the ranking yes, no, yes the precisions at the two hits are 1 and 2/3.
TEST(MultiLabelMetrics, AveragePrecisionTakesTiesTogether) {
    const std::vector<std::uint8_t> positive{1, 0, 1};
    EXPECT_DOUBLE_EQ(average_precision(std::vector<float>{3, 2, 1}, positive), (1 + 2.0 / 3) / 2);
    EXPECT_DOUBLE_EQ(average_precision(std::vector<float>{1, 1, 1}, positive), 2.0 / 3);
    EXPECT_DOUBLE_EQ(average_precision(std::vector<float>{2, 2, 1}, positive),
                     0.5 * 0.5 + 0.5 * 2 / 3);
    EXPECT_EQ(average_precision(std::vector<float>{1, 2}, std::vector<std::uint8_t>{0, 0}), 0);
}

TEST(MultiLabelMetrics, PartsOfTwoProcessesAreOneResult) {
    const nlohmann::json numbers = sklearn();
    const MultiLabelMetrics whole = collected(numbers, 0.5);
    MeasurePtr merged = make_measure(kHalf, 6);
    for (const std::size_t rank : {0U, 1U})
        merged->merge_packed(collected(numbers, 0.5, rank, 2).pack());
    const Scores expected = whole.scores(), found = merged->scores();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].name, expected[i].name);
        EXPECT_NEAR(found[i].value, expected[i].value, 1e-12);
    }
    std::vector<std::byte> bytes = whole.pack();
    bytes.pop_back();
    EXPECT_THAT(error_of([&] { merged->merge_packed(bytes); }), HasSubstr("found other bytes"));
    EXPECT_THAT(error_of([&] { make_measure(kHalf, 5)->merge_packed(whole.pack()); }),
                HasSubstr("expected 5 classes to merge, found 6"));
    EXPECT_THAT(error_of([&] { merged->merge_packed(Metrics(6).pack()); }),
                HasSubstr("found other bytes"));
}

TEST(MultiLabelMetrics, ImagesWithoutLabelsCount) {
    MultiLabelMetrics metrics(2, kHalf);
    EXPECT_EQ(metrics.add(0, std::vector<float>{-1, -2}, {}), 0);
    EXPECT_DOUBLE_EQ(metrics.exact_match(), 1);
    EXPECT_EQ(metrics.mean_average_precision(), 0);
    EXPECT_EQ(metrics.f1(), 0);
    metrics.add(1, std::vector<float>{0, -2}, std::vector<std::int64_t>{0});
    EXPECT_DOUBLE_EQ(metrics.exact_match(), 1);  // a probability of 0.5 reaches a threshold of 0.5
    EXPECT_DOUBLE_EQ(metrics.mean_average_precision(), 1);
    EXPECT_NEAR(metrics.answers(1)[0].probability, 0.5, 1e-7);
    EXPECT_THAT(error_of([&] {
                    metrics.add(2, std::vector<float>{0, 0}, std::vector<std::int64_t>{2});
                }),
                HasSubstr("expected a label below 2, found 2"));
    EXPECT_THAT(error_of([&] {
                    metrics.add(2, std::vector<float>{NAN, 0}, {});
                }),
                HasSubstr("image 2"));
}

}  // namespace
}  // namespace cait
