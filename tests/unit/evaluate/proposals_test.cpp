// Proposals of made outputs against torchvision's and mmdetection's rule (make_detections.py).
#include "evaluate/proposals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "golden/golden_case.h"
#include "golden/made_boxes.h"
#include "support/case_count.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

// The outputs of a first stage and what refers to them.
struct FirstStage {
    std::vector<std::vector<float>> objectness, deltas;
    std::vector<ImageSize> maps;

    std::vector<ProposalLevel> levels() const {
        std::vector<ProposalLevel> all;
        for (std::size_t i = 0; i < maps.size(); ++i)
            all.push_back({maps[i], objectness[i], deltas[i]});
        return all;
    }
};

// Of 128x160 pixels.
FirstStage made_stage(const std::string& name) {
    FirstStage stage;
    stage.maps = {{32, 40}, {16, 20}, {8, 10}, {4, 5}, {2, 3}};
    for (std::size_t i = 0; i < stage.maps.size(); ++i) {
        const auto places = std::size_t(stage.maps[i].height * stage.maps[i].width);
        const std::string level = "." + std::to_string(i);
        stage.objectness.push_back(
            golden::made_numbers(name + ".objectness" + level, 3 * places, 3));
        stage.deltas.push_back(golden::made_numbers(name + ".deltas" + level, 12 * places, 0.7));
    }
    return stage;
}

TEST(Proposals, AreThoseOfBothReferences) {
    test::CaseCount cases(4);
    const nlohmann::json stored = golden::read_json("detections.json");
    for (const nlohmann::json& one : stored["proposals"]) {
        SCOPED_TRACE(one.dump().substr(0, 90));
        const FirstStage stage = made_stage(one["name"]);
        const RegionRules rules =
            one["rules"] == "torchvision" ? torchvision_region_rules() : RegionRules();
        ProposalOptions options;
        options.per_level = one["per_level"];
        options.most = one["most"];
        const std::vector<Proposal> found = propose(stage.levels(), {120, 150}, rules, options);
        ASSERT_EQ(found.size(), one["scores"].size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Region& region = found[i].region;
            const float sides[] = {region.left, region.top, region.right, region.bottom};
            for (std::size_t k = 0; k < 4; ++k)
                EXPECT_NEAR(sides[k], one["regions"][4 * i + k].get<double>(), 1e-3) << i;
            EXPECT_NEAR(found[i].score, one["scores"][i].get<double>(), 2e-6) << i;
        }
        ++cases;
    }
}

// Step by step, without anything that makes it fast: all anchors, whole sorts, every pair.
std::vector<Proposal> plain_proposals(const FirstStage& stage, ImageSize image,
                                      const RegionRules& rules, const ProposalOptions& options) {
    const ImageSize input{stage.maps[0].height * 4, stage.maps[0].width * 4};
    const auto by_score = [](const Proposal& a, const Proposal& b) { return a.score > b.score; };
    std::vector<Proposal> kept;
    for (std::size_t level = 0; level < stage.maps.size(); ++level) {
        const std::size_t places = stage.objectness[level].size() / 3;
        const std::vector<Region> all = anchors(level, stage.maps[level], input, rules);
        std::vector<std::pair<float, std::size_t>> ranked;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const float logit = stage.objectness[level][i % 3 * places + i / 3];
            ranked.emplace_back(-logit, i);
        }
        std::ranges::sort(ranked);
        ranked.resize(std::min(ranked.size(), options.per_level));
        std::vector<Proposal> seen;
        for (const auto& [negative, i] : ranked) {
            std::array<float, 4> deltas{};
            for (std::size_t k = 0; k < 4; ++k)
                deltas[k] = stage.deltas[level][(i % 3 * 4 + k) * places + i / 3];
            const Region region = clipped(moved(all[i], deltas.data(), {1, 1, 1, 1}, rules), image);
            const float least = std::max(rules.least_proposal_side, 1e-30F);
            if (region.width() >= least && region.height() >= least)
                seen.push_back({region, 1 / (1 + std::exp(negative))});
        }
        std::ranges::stable_sort(seen, by_score);
        std::vector<Proposal> stay;
        for (const Proposal& one : seen)
            if (std::ranges::none_of(stay, [&](const Proposal& other) {
                    return overlap(one.region, other.region) > options.overlap;
                }))
                stay.push_back(one);
        kept.insert(kept.end(), stay.begin(), stay.end());
    }
    std::ranges::stable_sort(kept, by_score);
    kept.resize(std::min(kept.size(), options.most));
    return kept;
}

TEST(Proposals, AreThoseOfEveryPair) {
    for (unsigned seed = 0; seed < 24; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 generator(seed);
        std::normal_distribution<float> normal;
        FirstStage stage;
        stage.maps = {{8, 8 + seed % 5}, {4, 5}, {2, 3}};
        for (const ImageSize& map : stage.maps) {
            const auto places = std::size_t(map.height * map.width);
            stage.objectness.emplace_back(3 * places);
            stage.deltas.emplace_back(12 * places);
            // Many are equal.
            for (float& logit : stage.objectness.back())
                logit = std::round(normal(generator) * 4) / 4;
            for (float& delta : stage.deltas.back()) delta = normal(generator);
        }
        ProposalOptions options;
        options.per_level = 10 + generator() % 150;
        options.most = 5 + generator() % 100;
        options.overlap = seed % 2 == 0 ? 0.7F : 0.3F;
        const RegionRules rules = seed % 3 == 0 ? torchvision_region_rules() : RegionRules();
        const ImageSize image{30, 33};
        const std::vector<Proposal> found = propose(stage.levels(), image, rules, options);
        const std::vector<Proposal> expected = plain_proposals(stage, image, rules, options);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].region, expected[i].region) << i;
            EXPECT_EQ(found[i].score, expected[i].score) << i;
        }
    }
}

// All logits alike: places come row by row, at each the ratios.
TEST(Proposals, EqualLogitsComeByPosition) {
    FirstStage stage;
    stage.maps = {{2, 3}};
    stage.objectness = {std::vector<float>(18, 0.5F)};
    stage.deltas = {std::vector<float>(72, 0.0F)};
    ProposalOptions options;
    options.per_level = 7;
    options.overlap = 1;
    const std::vector<Proposal> found = propose(stage.levels(), {500, 500}, {}, options);
    ASSERT_EQ(found.size(), 7U);
    const std::vector<Region> all = anchors(0, {2, 3}, {8, 12}, {});
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(found[i].region, clipped(all[i], {500, 500}));
}

TEST(Proposals, NumbersThatAreNotFiniteAreRefused) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto refusal = [](const FirstStage& stage) {
        return error_of([&] { propose(stage.levels(), {120, 150}, {}, {}); });
    };
    FirstStage stage = made_stage("stage0");
    stage.objectness[1].back() = kNone;
    EXPECT_THAT(refusal(stage), HasSubstr("proposals: level 1"));
    stage.objectness[1].back() = -kInfinity;
    EXPECT_THAT(refusal(stage), HasSubstr("proposals: level 1"));
    FirstStage moved_far = made_stage("stage0");
    moved_far.deltas[3].front() = kNone;
    EXPECT_THAT(refusal(moved_far), HasSubstr("proposals: level 3"));
}

TEST(Proposals, WhatLiesFarOutsideProposesNothing) {
    FirstStage stage = made_stage("stage0");
    for (std::size_t level = 0; level < 4; ++level)
        for (float& delta : stage.deltas[level]) delta = 3e38F;  // no area within the image
    const std::vector<Proposal> found = propose(stage.levels(), {120, 150}, {}, {});
    EXPECT_GT(found.size(), 0U);
    EXPECT_LE(found.size(), 18U);  // of the last level
}

TEST(Proposals, NarrowOnesAreLeftOutByTorchvisionsRule) {
    FirstStage stage;
    stage.maps = {{1, 1}};
    stage.objectness = {{3, 2, 1}};
    stage.deltas = {std::vector<float>(12, 0.0F)};
    for (std::size_t ratio = 0; ratio < 3; ++ratio)
        stage.deltas[0][4 * ratio + 2] = ratio == 1 ? 0.0F : -12.0F;  // 1e-4 pixels wide
    EXPECT_EQ(propose(stage.levels(), {50, 50}, torchvision_region_rules(), {}).size(), 1U);
    EXPECT_EQ(propose(stage.levels(), {50, 50}, {}, {}).size(), 3U);  // shrunk to 16/1000
}

TEST(Proposals, MapsOfAnotherSizeAreAnError) {
    FirstStage stage = made_stage("stage0");
    stage.deltas[1].pop_back();
    EXPECT_THAT(error_of([&] {
                    propose(stage.levels(), {120, 150}, {}, {});
                }),
                HasSubstr("level 1 of 16x20 places"));
    stage.maps[1] = {-16, -20};
    EXPECT_THAT(error_of([&] {
                    propose(stage.levels(), {120, 150}, {}, {});
                }),
                HasSubstr("level 1"));
    stage.maps[0] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
    EXPECT_THAT(error_of([&] {
                    propose(stage.levels(), {120, 150}, {}, {});
                }),
                HasSubstr("level 0"));
    EXPECT_THAT(error_of([&] { propose({}, {120, 150}, {}, {}); }), HasSubstr("found 0"));
}

}  // namespace
}  // namespace cait
