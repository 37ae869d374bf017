// Detections from made outputs of a second stage against torchvision's and mmdetection's rule
// (make_detections.py).
#include "evaluate/box_answers.h"

#include <limits>

#include "golden/golden_case.h"
#include "golden/made_boxes.h"
#include "support/case_count.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

constexpr ImageSize kAnswerImage{120, 150};

std::vector<Proposal> made_proposals() {
    const std::vector<float> boxes = golden::made_boxes("answers.regions", 50, 150, 120, 60);
    std::vector<Proposal> proposals;
    for (std::size_t i = 0; i < 50; ++i)
        proposals.push_back(
            {{boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]}, 0.5F});
    return proposals;
}

TEST(BoxAnswers, AreThoseOfBothReferences) {
    test::CaseCount cases(4);
    const nlohmann::json stored = golden::read_json("detections.json");
    for (const nlohmann::json& one : stored["detections"]) {
        SCOPED_TRACE(one.dump().substr(0, 90));
        const RegionRules rules =
            one["rules"] == "torchvision" ? torchvision_region_rules() : RegionRules();
        const std::size_t boxes = one["boxes"];
        BoxAnswerOptions options;
        options.most = one["most"];
        const std::vector<BoxAnswer> found =
            box_answers(made_proposals(), golden::made_numbers("answers.logits", 50 * 5, 3),
                        golden::made_numbers("answers.deltas", 50 * 4 * boxes, 4), kAnswerImage,
                        rules, options);
        ASSERT_EQ(found.size(), one["scores"].size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Region& region = found[i].region;
            const float sides[] = {region.left, region.top, region.right, region.bottom};
            for (std::size_t k = 0; k < 4; ++k)
                EXPECT_NEAR(sides[k], one["regions"][4 * i + k].get<double>(), 1e-3) << i;
            EXPECT_NEAR(found[i].score, one["scores"][i].get<double>(), 2e-6) << i;
            EXPECT_EQ(found[i].label, one["labels"][i].get<std::int64_t>()) << i;
        }
        ++cases;
    }
}

// Two proposals, two classes, the background last.
struct TwoAnswers {
    std::vector<Proposal> proposals{{{0, 0, 10, 10}, 1}, {{50, 50, 90, 90}, 1}};
    std::vector<float> logits{9, 0, 0, 0, 8, 0};
    std::vector<float> deltas = std::vector<float>(16, 0.0F);

    std::vector<BoxAnswer> found(const RegionRules& rules = {}) const {
        return box_answers(proposals, logits, deltas, kAnswerImage, rules, {});
    }
};

TEST(BoxAnswers, SayWhichProposalTheyCameFrom) {
    const std::vector<BoxAnswer> found = TwoAnswers().found();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].proposal, 0U);
    EXPECT_EQ(found[0].label, 0);
    EXPECT_EQ(found[0].region, (Region{0, 0, 10, 10}));
    EXPECT_EQ(found[1].proposal, 1U);
    EXPECT_EQ(found[1].label, 1);
}

TEST(BoxAnswers, NumbersThatAreNotFiniteAnswerNothing) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    constexpr float kEndless = std::numeric_limits<float>::infinity();
    for (const float bad : {kNone, kEndless, -kEndless}) {
        TwoAnswers logit, delta, region;
        logit.logits[1] = bad;
        delta.deltas[12] = bad;  // of the second proposal's second class
        region.proposals[0].region.left = bad;
        ASSERT_EQ(logit.found().size(), 1U);
        EXPECT_EQ(logit.found()[0].proposal, 1U);
        ASSERT_EQ(delta.found().size(), 1U);
        EXPECT_EQ(delta.found()[0].proposal, 0U);
        for (const BoxAnswer& answer : region.found()) EXPECT_TRUE(answer.region.width() >= 0);
    }
}

TEST(BoxAnswers, ThinBoxesAreLeftOutByTorchvisionsRule) {
    TwoAnswers thin;
    thin.proposals[0].region = {0, 0, 0.005F, 10};
    EXPECT_EQ(thin.found().size(), 2U);
    RegionRules rules;
    rules.least_answer_side = 1e-2F;
    EXPECT_EQ(thin.found(rules).size(), 1U);
}

TEST(BoxAnswers, RowsThatDoNotFitAreAnError) {
    TwoAnswers wrong;
    wrong.deltas.resize(24);
    EXPECT_THAT(error_of([&] { wrong.found(); }), HasSubstr("found 6 logits and 24 deltas"));
    EXPECT_NO_THROW(wrong.found(torchvision_region_rules()));
    wrong.logits.pop_back();
    EXPECT_THAT(error_of([&] { wrong.found(); }), HasSubstr("found 5 logits"));
    wrong.logits.resize(2);
    wrong.deltas.clear();
    EXPECT_THAT(error_of([&] { wrong.found(); }), HasSubstr("2 classes or more"));
    wrong.proposals.clear();
    EXPECT_THAT(error_of([&] { wrong.found(); }), HasSubstr("no proposals"));
    EXPECT_TRUE(box_answers({}, {}, {}, kAnswerImage, {}, {}).empty());
}

}  // namespace
}  // namespace cait
