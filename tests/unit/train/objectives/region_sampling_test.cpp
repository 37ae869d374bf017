#include "train/objectives/region_sampling.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <set>

namespace cait {
namespace {

using testing::ElementsAre;

// A strip of a box of 10 by 10: `width` of it, so that the overlap is width / 10.
Region strip(float width) { return {0, 0, width, 10}; }
constexpr Region kBox{0, 0, 10, 10};

TEST(RegionSampling, ARegionShowsTheBoxThatItOverlapsMost) {
    const std::vector<Region> boxes{kBox, {20, 0, 30, 10}};
    const std::vector<Region> regions{{20, 0, 29, 10},  // 0.9 of the second
                                      strip(8),         // 0.8 of the first
                                      strip(5),         // neither
                                      strip(2),         // background
                                      {50, 50, 60, 60}};
    EXPECT_THAT(assigned(regions, boxes, kAnchorRule),
                ElementsAre(1, 0, kNeither, kBackground, kBackground));
}

TEST(RegionSampling, TheThresholdsThemselvesBelongAbove) {
    const std::vector<Region> boxes{kBox};
    const std::vector<Region> regions{kBox, strip(5), {0, 0, 2.5F, 10}};
    const AssignRule rule{.positive = 0.5F, .background = 0.25F, .best = 2};
    EXPECT_THAT(assigned(regions, boxes, rule), ElementsAre(0, 0, kNeither));
}

TEST(RegionSampling, ABoxHasTheRegionsThatOverlapItMost) {
    const std::vector<Region> boxes{kBox};
    const std::vector<Region> half{strip(5), strip(5), strip(4)};
    EXPECT_THAT(assigned(half, boxes, kAnchorRule), ElementsAre(0, 0, kNeither));
    // Not by less than 0.3, nor where nobody asks for them.
    const std::vector<Region> less{strip(2.5F), strip(1)};
    EXPECT_THAT(assigned(less, boxes, kAnchorRule), ElementsAre(kBackground, kBackground));
    EXPECT_THAT(assigned(half, boxes, {.positive = 0.7F, .background = 0.3F, .best = 2}),
                ElementsAre(kNeither, kNeither, kNeither));
}

TEST(RegionSampling, OfSeveralBoxesABestRegionShowsTheLast) {
    // The region is the best of both, and overlaps the first by more.
    const std::vector<Region> boxes{{0, 0, 10, 10}, {0, 0, 5, 10}};
    const std::vector<Region> regions{{0, 0, 9, 10}};
    EXPECT_THAT(assigned(regions, boxes, kMaskRegionRule), ElementsAre(1));
    EXPECT_THAT(assigned(regions, boxes, kBoxRegionRule), ElementsAre(0));
}

TEST(RegionSampling, WithoutBoxesAllIsBackground) {
    const std::vector<Region> regions(3, kBox);
    EXPECT_THAT(assigned(regions, {}, kAnchorRule),
                ElementsAre(kBackground, kBackground, kBackground));
    EXPECT_TRUE(assigned({}, regions, kAnchorRule).empty());
}

TEST(RegionSampling, WhatIsNoNumberOverlapsNothing) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<Region> regions{{nan, 0, 10, 10}, kBox}, boxes{kBox};
    EXPECT_THAT(assigned(regions, boxes, kAnchorRule), ElementsAre(kBackground, 0));
}

// `positive` of box 0, `neither`, and `background`, in turns.
std::vector<std::int32_t> mixed(int positive, int neither, int background) {
    std::vector<std::int32_t> shown;
    while (positive + neither + background > 0) {
        if (positive-- > 0) shown.push_back(0);
        if (neither-- > 0) shown.push_back(kNeither);
        if (background-- > 0) shown.push_back(kBackground);
        positive = std::max(positive, 0);
        neither = std::max(neither, 0);
        background = std::max(background, 0);
    }
    return shown;
}

RegionSample draw(const std::vector<std::int32_t>& shown, SampleSize size,
                  std::uint64_t place = 0) {
    return sampled(shown, size, sampling_stream("anchors", 1, 2, place));
}

TEST(RegionSampling, TakesNoMoreThanAskedForAndOnlyWhatIsOfTheKind) {
    const std::vector<std::int32_t> shown = mixed(300, 50, 900);
    const RegionSample sample = draw(shown, {256, 0.5});
    EXPECT_EQ(sample.positive.size(), 128U);
    EXPECT_EQ(sample.background.size(), 128U);
    EXPECT_TRUE(std::ranges::is_sorted(sample.positive));
    EXPECT_TRUE(std::ranges::is_sorted(sample.background));
    EXPECT_EQ(std::set<std::int32_t>(sample.positive.begin(), sample.positive.end()).size(), 128U);
    for (const std::int32_t i : sample.positive) EXPECT_EQ(shown[std::size_t(i)], 0);
    for (const std::int32_t i : sample.background) EXPECT_EQ(shown[std::size_t(i)], kBackground);
}

TEST(RegionSampling, BackgroundFillsWhatPositivesLeave) {
    const RegionSample sample = draw(mixed(10, 0, 900), {512, 0.25});
    EXPECT_EQ(sample.positive.size(), 10U);
    EXPECT_EQ(sample.background.size(), 502U);
    const RegionSample few = draw(mixed(300, 7, 20), {512, 0.25});
    EXPECT_EQ(few.positive.size(), 128U);
    EXPECT_EQ(few.background.size(), 20U);
}

TEST(RegionSampling, TakesAllWhereThereAreNoMore) {
    EXPECT_THAT(draw({0, kBackground, kNeither, 1, kBackground}, {8, 0.5}).positive,
                ElementsAre(0, 3));
    EXPECT_THAT(draw({0, kBackground, kNeither, 1, kBackground}, {8, 0.5}).background,
                ElementsAre(1, 4));
    EXPECT_EQ(draw({}, {8, 0.5}).size(), 0);
}

// Each of the places is drawn about as often as the others.
TEST(RegionSampling, EveryRegionHasTheSameChance) {
    const std::vector<std::int32_t> shown(20, kBackground);
    std::vector<int> drawn(20, 0);
    for (std::uint64_t place = 0; place < 2000; ++place)
        for (const std::int32_t i : draw(shown, {5, 0.5}, place).background)
            ++drawn[std::size_t(i)];
    for (const int count : drawn) EXPECT_NEAR(count, 500, 100);  // five standard deviations
}

TEST(RegionSampling, StageSeedStepAndPlaceDrawOtherNumbers) {
    std::set<std::uint32_t> seen;
    for (const char* stage : {"anchors", "regions"})
        for (std::uint64_t seed = 0; seed < 2; ++seed)
            for (std::uint64_t step = 0; step < 12; ++step)
                for (std::uint64_t place = 0; place < 12; ++place)
                    seen.insert(sampling_stream(stage, seed, step, place).bits());
    EXPECT_EQ(seen.size(), 2U * 2 * 12 * 12);
    EXPECT_EQ(sampling_stream("anchors", 3, 4, 5).bits(),
              sampling_stream("anchors", 3, 4, 5).bits());
}

}  // namespace
}  // namespace cait
