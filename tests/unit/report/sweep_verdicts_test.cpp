// Verdicts over the contrasts of studies: ratios of largest stable values are judged in every seed,
// differences by their interval.
#include "report/sweep_report.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

SweepContrastResult judged_alone(SweepContrastResult contrast) {
    std::vector<SweepStudyResult> studies(1);
    studies[0].contrasts = {std::move(contrast)};
    judge(studies);
    return studies[0].contrasts[0];
}

Verdict verdict_of_ratios(std::vector<double> ratios) {
    SweepContrastResult contrast;
    contrast.margin = 2;
    contrast.is_ratio = true;
    contrast.differences = std::move(ratios);
    return judged_alone(contrast).verdict;
}

TEST(SweepVerdicts, ARatioIsShownWhereEverySeedReachesTheMarginItselfIncluded) {
    EXPECT_EQ(verdict_of_ratios({2, 4, 2}), Verdict::shown);
    EXPECT_EQ(verdict_of_ratios({2, 4, 1.99}), Verdict::open);
}

TEST(SweepVerdicts, ARatioIsContradictedWhereEverySeedIsBelowOne) {
    EXPECT_EQ(verdict_of_ratios({0.5, 0.25}), Verdict::contradicted);
    EXPECT_EQ(verdict_of_ratios({0.5, 1}), Verdict::open);
}

TEST(SweepVerdicts, ARatioOfOneSeedIsOpen) {
    EXPECT_EQ(verdict_of_ratios({8}), Verdict::open);
    EXPECT_EQ(verdict_of_ratios({0.1}), Verdict::open);
}

TEST(SweepVerdicts, HolmsCorrectionCoversThePrimaryContrastsOfAllStudies) {
    SweepContrastResult first, second;
    first.primary = second.primary = true;
    first.differences = {0.10, 0.11, 0.12, 0.10};
    second.differences = {0.01, 0.05, 0.02, 0.06};
    std::vector<SweepStudyResult> studies(2);
    studies[0].contrasts = {first};
    studies[1].contrasts = {second};
    judge(studies);
    const SweepContrastResult& clear = studies[0].contrasts[0];
    const SweepContrastResult& vague = studies[1].contrasts[0];
    ASSERT_TRUE(clear.p && vague.p && clear.adjusted && vague.adjusted);
    EXPECT_LT(*clear.p, *vague.p);
    EXPECT_DOUBLE_EQ(*clear.adjusted, 2 * *clear.p);
    EXPECT_DOUBLE_EQ(*vague.adjusted, *vague.p);
}

}  // namespace
}  // namespace cait
