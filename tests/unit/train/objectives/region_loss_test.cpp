#include "train/objectives/region_loss.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

namespace cait {
namespace {

using testing::ElementsAre;

const std::shared_ptr<kernels::ThreadPool>& pool() {
    static const auto kPool = std::make_shared<kernels::ThreadPool>(2);
    return kPool;
}

// One place at the first level alone, with these three anchors.
FirstStage one_place(const std::vector<Region>& anchors) {
    FirstStage stage;
    stage.objectness = at::zeros({1, 3}).requires_grad_();
    stage.deltas = at::zeros({1, 3, 4}).requires_grad_();
    stage.anchors = anchors;
    stage.maps = {{1, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 0}};
    return stage;
}

RandomStream any_numbers() { return sampling_stream("test", 0, 0, 0); }

TEST(FirstStageLoss, IsDividedByWhatWasSampled) {
    // The first shows the box, a tenth of its width off; the second shows neither.
    const FirstStage stage = one_place({{0, 0, 10, 10}, {1, 0, 6, 10}, {40, 40, 50, 50}});
    const DetectionTruth truth{
        .boxes = {{1, 0, 11, 10}}, .labels = {0}, .masks = {}, .shown = {32, 32}};
    const FirstStageLoss loss = first_stage_loss(stage, 0, truth, {256, 0.5}, any_numbers());
    EXPECT_NEAR(loss.objectness.item<double>(), std::numbers::ln2, 1e-6);
    EXPECT_NEAR(loss.boxes.item<double>(), 0.1 / 2, 1e-6);
    (loss.objectness + loss.boxes).backward();
    const at::Tensor of_scores = stage.objectness.grad()[0], of_moves = stage.deltas.grad()[0];
    EXPECT_NEAR(of_scores[0].item<double>(), -0.25, 1e-6);
    EXPECT_EQ(of_scores[1].item<double>(), 0);
    EXPECT_NEAR(of_scores[2].item<double>(), 0.25, 1e-6);
    EXPECT_NEAR(of_moves[0][0].item<double>(), -0.5, 1e-6);
    EXPECT_EQ(of_moves.abs().sum().item<double>(), 0.5);
}

TEST(FirstStageLoss, WithoutBoxesAllAnchorsAreBackground) {
    const FirstStage stage = one_place({{0, 0, 10, 10}, {0, 0, 5, 10}, {40, 40, 50, 50}});
    const FirstStageLoss loss =
        first_stage_loss(stage, 0, {.boxes = {}, .labels = {}, .masks = {}, .shown = {32, 32}},
                         {256, 0.5}, any_numbers());
    EXPECT_NEAR(loss.objectness.item<double>(), std::numbers::ln2, 1e-6);
    EXPECT_EQ(loss.boxes.item<double>(), 0);
}

// 64x64 pixels, of which 33x20 are shown: padded to 64x32 on their own.
TEST(FirstStageLoss, PlacesThatOtherImagesAloneHaveAreLeftOut) {
    FirstStage stage;
    stage.maps = {{16, 16}, {8, 8}, {4, 4}, {2, 2}, {1, 1}};
    stage.anchors.resize(std::size_t(3 * (256 + 64 + 16 + 4 + 1)));
    const std::vector<std::int32_t> within = anchors_within(stage, {33, 20});
    EXPECT_EQ(within.size(), std::size_t(3 * (128 + 32 + 8 + 2 + 1)));
    EXPECT_EQ(within[0], 0);
    EXPECT_EQ(within[23], 23);  // 8 places of a row of 16, of 3 anchors each
    EXPECT_EQ(within[24], 48);
    EXPECT_EQ(anchors_within(stage, {64, 64}).size(), stage.anchors.size());
}

const RegionRules kRules{};

SampledRegions sampled_regions() {
    const DetectionTruth truth{
        .boxes = {{0, 0, 10, 10}}, .labels = {1}, .masks = {}, .shown = {64, 64}};
    const std::vector<Region> proposals{{1, 0, 11, 10}, {30, 30, 40, 40}};
    SampledRegions sampled;
    add_regions(0, truth, proposals, kRules, kMaskRegionRule, {512, 0.25}, any_numbers(), sampled);
    return sampled;
}

TEST(SecondStage, LooksAtAnnotatedBoxesAndProposals) {
    const SampledRegions sampled = sampled_regions();
    ASSERT_EQ(sampled.regions.size(), 3U);
    EXPECT_EQ(sampled.regions[0].region, (Region{0, 0, 10, 10}));
    EXPECT_EQ(sampled.regions[1].region, (Region{1, 0, 11, 10}));
    EXPECT_THAT(sampled.labels, ElementsAre(1, 1, kBackground));
    EXPECT_THAT(sampled.weights, testing::Each(1.0F / 3));
    ASSERT_EQ(sampled.positives.size(), 2U);
    EXPECT_EQ(sampled.positives[1].row, 1);
    // A tenth of the width to the left, and deltas are in tenths.
    EXPECT_NEAR(sampled.positives[1].deltas[0], -1, 1e-5);
    EXPECT_NEAR(sampled.positives[1].deltas[2], 0, 1e-5);
}

TEST(SecondStage, BoxesAreLearnedForTheTrueClassAlone) {
    const SampledRegions sampled = sampled_regions();
    const at::Tensor logits = at::zeros({3, 4}), deltas = at::zeros({3, 12}).requires_grad_();
    const BoxLoss loss = box_loss(logits, deltas, sampled, kRules);
    EXPECT_NEAR(loss.classes.item<double>(), std::log(4), 1e-6);
    EXPECT_NEAR(loss.boxes.item<double>(), 1.0 / 3, 1e-5);
    loss.boxes.backward();
    for (std::int64_t i = 0; i < 12; ++i)
        EXPECT_NEAR(deltas.grad()[1][i].item<double>(), i == 4 ? 1.0 / 3 : 0, 1e-6) << i;
}

TEST(SecondStage, TheBackgroundIsTheLastClassOrTheFirst) {
    const SampledRegions sampled = sampled_regions();
    at::Tensor last = at::zeros({3, 4}), first = at::zeros({3, 4});
    for (std::int64_t i = 0; i < 2; ++i) {
        last[i][1] = 50;
        first[i][2] = 50;
    }
    last[2][3] = first[2][0] = 50;
    EXPECT_NEAR(box_loss(last, at::zeros({3, 12}), sampled, kRules).classes.item<double>(), 0,
                1e-6);
    const RegionRules other = torchvision_region_rules();
    EXPECT_NEAR(box_loss(first, at::zeros({3, 16}), sampled, other).classes.item<double>(), 0,
                1e-6);
}

TEST(SecondStage, AnImageWithoutObjectsTeachesBackgroundOnly) {
    SampledRegions sampled;
    add_regions(0, {.boxes = {}, .labels = {}, .masks = {}, .shown = {64, 64}},
                std::vector<Region>(5, Region{0, 0, 9, 9}), kRules, kMaskRegionRule, {512, 0.25},
                any_numbers(), sampled);
    EXPECT_EQ(sampled.regions.size(), 5U);
    EXPECT_TRUE(sampled.positives.empty());
    const BoxLoss loss = box_loss(at::zeros({5, 3}), at::zeros({5, 8}), sampled, kRules);
    EXPECT_NEAR(loss.classes.item<double>(), std::log(3), 1e-6);
    EXPECT_EQ(loss.boxes.item<double>(), 0);
    const DetectionTruth none{.boxes = {}, .labels = {}, .masks = {}, .shown = {64, 64}};
    EXPECT_TRUE(mask_targets(sampled, std::span(&none, 1), 28, pool()).regions.empty());
}

// The left half of a box of 56 pixels: 14 of 28 columns.
DetectionTruth half_a_box() {
    std::vector<std::uint8_t> pixels(64 * 64, 0);
    for (std::size_t y = 0; y < 56; ++y)
        for (std::size_t x = 0; x < 28; ++x) pixels[y * 64 + x] = 1;
    return {.boxes = {{0, 0, 56, 56}},
            .labels = {0},
            .masks = {run_mask(pixels, 64, 64)},
            .shown = {64, 64}};
}

TEST(MaskTargets, ShowWhatOfTheMaskLiesInTheRegion) {
    const DetectionTruth truth = half_a_box();
    SampledRegions sampled;
    add_regions(0, truth, {}, kRules, kMaskRegionRule, {512, 0.25}, any_numbers(), sampled);
    const MaskTargets targets = mask_targets(sampled, std::span(&truth, 1), 28, pool());
    ASSERT_EQ(targets.regions.size(), 1U);
    for (std::int64_t x = 0; x < 28; ++x)
        EXPECT_EQ(targets.masks[0][10][x].item<float>(), x < 14 ? 1 : 0) << x;
}

TEST(MaskLoss, IsTheMeanOfEachImagesPositives) {
    // Two regions of the first image, one of the second.
    const MaskTargets targets{.regions = std::vector<PooledRegion>(3),
                              .labels = {0, 1, 0},
                              .weights = {0.5F, 0.5F, 1},
                              .masks = at::ones({3, 28, 28})};
    const at::Tensor logits = at::zeros({3, 2, 28, 28}).requires_grad_();
    const at::Tensor loss = mask_loss(logits, targets, kRules);
    EXPECT_NEAR(loss.item<double>(), 2 * std::numbers::ln2, 1e-5);
    loss.backward();
    EXPECT_NEAR(logits.grad()[0][0].sum().item<double>(), -0.25, 1e-5);
    EXPECT_EQ(logits.grad()[0][1].abs().sum().item<double>(), 0);
    EXPECT_NEAR(logits.grad()[2][0].sum().item<double>(), -0.5, 1e-5);
    // torchvision's masks begin with one of the background.
    const at::Tensor shifted = at::zeros({3, 3, 28, 28}).requires_grad_();
    mask_loss(shifted, targets, torchvision_region_rules()).backward();
    EXPECT_EQ(shifted.grad().narrow(1, 0, 1).abs().sum().item<double>(), 0);
    EXPECT_NE(shifted.grad()[0][1].abs().sum().item<double>(), 0);
}

TEST(MaskTargets, AnObjectWithoutAMaskIsNotLearnedFrom) {
    DetectionTruth truth = half_a_box();
    truth.boxes.push_back({10, 10, 40, 40});
    truth.labels.push_back(0);
    truth.masks.emplace_back(RunMask{.width = 64, .height = 64, .runs = {4096}});
    SampledRegions sampled;
    add_regions(0, truth, {}, kRules, kMaskRegionRule, {512, 0.25}, any_numbers(), sampled);
    ASSERT_EQ(sampled.positives.size(), 2U);
    const MaskTargets targets = mask_targets(sampled, std::span(&truth, 1), 28, pool());
    EXPECT_EQ(targets.regions.size(), 1U);
    EXPECT_THAT(targets.weights, ElementsAre(1));
}

}  // namespace
}  // namespace cait
