// COCO's rules of matching, one at a time.
#include "evaluate/match_detections.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

enum : std::size_t { kAll, kSmall, kMedium, kLarge };

ImageJudgement judged(const std::vector<double>& found, const std::vector<AnnotatedSize>& annotated,
                      const std::vector<double>& overlaps) {
    return judge_image(found, annotated, overlaps);
}

TEST(MatchDetections, TheBetterOverlapIsTakenAndAnObjectMatchesOnce) {
    // Two found, the first closer to the second object; both closer to it.
    const ImageJudgement image = judged({100, 100}, {{100}, {100}}, {0.6, 0.82, 0.57, 0.92});
    EXPECT_TRUE(image.found[0].matched.at(kAll, 6));   // 0.82 is enough for 0.8
    EXPECT_FALSE(image.found[0].matched.at(kAll, 7));  // but not for 0.85
    EXPECT_TRUE(image.found[1].matched.at(kAll, 1));   // what is left has 0.57
    EXPECT_FALSE(image.found[1].matched.at(kAll, 2));
    EXPECT_TRUE(image.found[1].matched.at(kAll, 8));  // the first no longer takes it at 0.9
    EXPECT_EQ(image.objects, (std::array<std::uint64_t, 4>{2, 2, 0, 0}));
}

TEST(MatchDetections, AnOverlapOfExactlyTheThresholdIsEnough) {
    const ImageJudgement image = judged({100, 100}, {{100}, {100}}, {0.5, 0, 0, 0.75});
    EXPECT_TRUE(image.found[0].matched.at(kAll, 0));
    EXPECT_FALSE(image.found[0].matched.at(kAll, 1));
    EXPECT_TRUE(image.found[1].matched.at(kAll, 5));
    EXPECT_FALSE(image.found[1].matched.at(kAll, 6));
}

TEST(MatchDetections, ACrowdTakesSeveralButOnlyWhatMatchesNothingElse) {
    const ImageJudgement image =
        judged({100, 100, 100}, {{500, true}, {100}}, {0.9, 0.6, 1, 0, 0.9, 0});
    EXPECT_TRUE(image.found[0].matched.at(kAll, 0));
    EXPECT_FALSE(image.found[0].ignored.at(kAll, 0));  // the object, though the crowd is closer
    EXPECT_TRUE(image.found[0].ignored.at(kAll, 3));   // 0.65: only the crowd
    EXPECT_TRUE(image.found[1].ignored.at(kAll, 9));
    EXPECT_TRUE(image.found[2].ignored.at(kAll, 0));
    EXPECT_EQ(image.objects[kAll], 1U);
}

TEST(MatchDetections, WhatHasAnotherSizeIsIgnoredInARange) {
    const ImageJudgement image =
        judged({32 * 32, 5000, 10000}, {{5000}, {96 * 96}}, {0, 0, 0.9, 0, 0, 0});
    EXPECT_FALSE(image.found[0].ignored.at(kSmall, 0));   // wrong there …
    EXPECT_FALSE(image.found[0].ignored.at(kMedium, 0));  // … and there: both ends belong to both
    EXPECT_TRUE(image.found[0].ignored.at(kLarge, 0));
    EXPECT_TRUE(image.found[1].ignored.at(kLarge, 0));  // matches what is not looked for there
    EXPECT_FALSE(image.found[1].ignored.at(kMedium, 0));
    EXPECT_FALSE(image.found[2].ignored.at(kAll, 0));
    EXPECT_TRUE(image.found[2].ignored.at(kMedium, 0));
    EXPECT_EQ(image.objects, (std::array<std::uint64_t, 4>{2, 0, 2, 1}));
}

TEST(MatchDetections, ThresholdsAreThoseOfNumpy) {
    EXPECT_EQ(overlap_threshold(0), 0.5);
    EXPECT_EQ(overlap_threshold(5), 0.75);
    EXPECT_EQ(overlap_threshold(9), 0.95);
    EXPECT_NEAR(overlap_threshold(3), 0.65, 1e-15);
}

}  // namespace
}  // namespace cait
