// Suppression against torchvision's (make_detections.py), and against every pair in turn.
#include "kernels/suppression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "golden/golden_case.h"
#include "golden/made_boxes.h"
#include "support/case_count.h"

namespace cait::kernels {
namespace {

using Numbers = std::vector<std::int32_t>;

TEST(Suppression, KeepsWhatTorchvisionKeeps) {
    test::CaseCount cases(4);
    const nlohmann::json stored = golden::read_json("detections.json");
    for (const nlohmann::json& one : stored["suppress"]) {
        const std::size_t count = one["count"];
        const std::int32_t groups = one["groups"], step = one["step"];
        const std::string name = "suppress." + std::to_string(count) + "." + std::to_string(groups);
        SCOPED_TRACE(name);
        const std::vector<float> boxes = golden::made_boxes(name, count, 100, 80, 40);
        std::vector<float> scores = golden::made_numbers(name + ".scores", count);
        Numbers group;
        for (std::size_t i = 0; i < count; ++i) {
            scores[i] = (scores[i] + 1) / 2;
            if (step > 0) scores[i] = std::floor(scores[i] * float(step)) / float(step);
            group.push_back(std::int32_t(i) * 7 / 3 % groups);
        }
        const auto wanted = one["kept"].get<Numbers>();
        EXPECT_EQ(suppress(boxes, scores, group, one["overlap"], count), wanted);
        EXPECT_EQ(suppress(boxes, scores, group, one["overlap"], 10),
                  Numbers(wanted.begin(), wanted.begin() + 10));
        if (groups == 1) {
            EXPECT_EQ(suppress(boxes, scores, {}, one["overlap"], count), wanted);
        }
        ++cases;
    }
}

// Every pair, with nothing remembered between them.
Numbers plain_suppress(const std::vector<float>& boxes, const std::vector<float>& scores,
                       const Numbers& groups, float overlap) {
    Numbers order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::int32_t i) { return scores[std::size_t(i)]; });
    Numbers kept;
    for (const std::int32_t i : order) {
        const bool falls = std::ranges::any_of(kept, [&](std::int32_t j) {
            if (groups[std::size_t(i)] != groups[std::size_t(j)]) return false;
            const float *a = boxes.data() + 4 * i, *b = boxes.data() + 4 * j;
            const float shared = std::max(0.0F, std::min(a[2], b[2]) - std::max(a[0], b[0])) *
                                 std::max(0.0F, std::min(a[3], b[3]) - std::max(a[1], b[1]));
            const float first = (a[2] - a[0]) * (a[3] - a[1]),
                        second = (b[2] - b[0]) * (b[3] - b[1]);
            return shared / (second + first - shared) > overlap;
        });
        if (!falls) kept.push_back(i);
    }
    return kept;
}

TEST(Suppression, IsThatOfEveryPair) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 generator(seed);
        const auto below = [&](int end) { return int(generator() % unsigned(end)); };
        const int count = 1 + below(400), side = 5 + below(60);
        std::vector<float> boxes, scores;
        Numbers groups;
        for (int i = 0; i < count; ++i) {
            // Whole numbers: overlaps of exactly the limit, equal boxes and boxes without area.
            const float left = float(below(40)), top = float(below(40));
            boxes.insert(boxes.end(), {left, top, left + float(below(side)) - float(seed % 2),
                                       top + float(below(side))});
            scores.push_back(float(below(50)) / 50);
            groups.push_back(below(3) * 1000 - 1);
        }
        const float overlap = seed % 3 == 0 ? 0.5F : 0.3F;
        EXPECT_EQ(suppress(boxes, scores, groups, overlap, std::size_t(count)),
                  plain_suppress(boxes, scores, groups, overlap));
    }
}

TEST(Suppression, BoxesOfExactlyTheLimitStay) {
    const std::vector<float> boxes{0, 0, 10, 10, 0, 0, 10, 5};
    EXPECT_EQ(suppress(boxes, std::vector<float>{1, 0.5F}, {}, 0.5F, 9), (Numbers{0, 1}));
    EXPECT_EQ(suppress(boxes, std::vector<float>{1, 0.5F}, {}, 0.499F, 9), (Numbers{0}));
}

TEST(Suppression, WhatIsNotFiniteFalls) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    constexpr float kEndless = std::numeric_limits<float>::infinity();
    const std::vector<float> boxes{0,  0,  10, 10,        0, 0, kNone, 10, 20, 20,
                                   30, 30, 0,  -kEndless, 4, 4, 50,    50, 60, 60};
    const std::vector<float> scores{0.1F, 0.9F, kNone, 0.8F, kEndless};
    EXPECT_EQ(suppress(boxes, scores, {}, 0.5F, 9), (Numbers{0}));
    EXPECT_TRUE(suppress({}, {}, {}, 0.5F, 9).empty());
    EXPECT_TRUE(suppress(boxes, scores, {}, 0.5F, 0).empty());
}

// Nothing overlaps: the most that there is to compare.
TEST(Suppression, TwentyThousandBoxesThatAllStay) {
    std::vector<float> boxes, scores;
    for (int i = 0; i < 20'000; ++i) {
        const float x = float(i % 200) * 10, y = float(i / 200) * 10;
        boxes.insert(boxes.end(), {x, y, x + 9, y + 9});
        scores.push_back(float(i * 7919 % 20'000));
    }
    EXPECT_EQ(suppress(boxes, scores, {}, 0.5F, boxes.size()).size(), 20'000U);
}

}  // namespace
}  // namespace cait::kernels
