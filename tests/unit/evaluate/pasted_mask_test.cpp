// Masks laid over images against torchvision's paste_masks_in_image and mmdetection's grid_sample
// (make_detections.py).
#include "evaluate/pasted_mask.h"

#include <cmath>
#include <limits>
#include <random>

#include "golden/golden_case.h"
#include "support/case_count.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

constexpr std::int64_t kSide = 28;

// A hill with stripes, as probabilities() of the script.
std::vector<float> hill() {
    std::vector<float> values;
    for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x) {
            const double across = x - 13.5, down = y - 11;
            const double height = 1 / (1 + (across * across / 60 + down * down / 90));
            values.push_back(float((x + y) % 9 == 0 ? height * 0.4 : height));
        }
    return values;
}

TEST(PastedMasks, AreThoseOfBothReferences) {
    test::CaseCount cases(18);
    const nlohmann::json stored = golden::read_json("detections.json");
    for (const nlohmann::json& one : stored["masks"]) {
        SCOPED_TRACE(one["box"].dump());
        const Region box{one["box"][0], one["box"][1], one["box"][2], one["box"][3]};
        for (const bool torchvision : {false, true}) {
            const RunMask found =
                pasted_mask(hill(), kSide, box, 60, 44,
                            torchvision ? torchvision_region_rules() : RegionRules());
            EXPECT_EQ(found.runs,
                      one[torchvision ? "torchvision" : "mmdet"].get<std::vector<std::uint32_t>>())
                << torchvision;
            EXPECT_EQ(found.width, 60);
            EXPECT_EQ(found.height, 44);
            ++cases;
        }
    }
}

TEST(PastedMasks, FullOnesFillTheirBoxes) {
    const std::vector<float> full(kSide * kSide, 1.0F);
    const RunMask some = pasted_mask(full, kSide, {2, 3, 6, 8}, 10, 9, {});
    EXPECT_EQ(some.runs, (std::vector<std::uint32_t>{21, 5, 4, 5, 4, 5, 4, 5, 37}));
    for (const RegionRules& rules : {RegionRules(), torchvision_region_rules()}) {
        EXPECT_EQ(pasted_mask(full, kSide, {-9, -9, 30, 30}, 10, 9, rules).runs,
                  (std::vector<std::uint32_t>{0, 90}));
        EXPECT_TRUE(pasted_mask(full, kSide, {60, 60, 70, 70}, 10, 9, rules).empty());
    }
    // Just at the threshold: inside for mmdetection, outside for torchvision.
    const std::vector<float> half(kSide * kSide, 0.5F);
    EXPECT_FALSE(pasted_mask(half, kSide, {-9, -9, 30, 30}, 10, 9, {}).empty());
    EXPECT_TRUE(
        pasted_mask(half, kSide, {-9, -9, 30, 30}, 10, 9, torchvision_region_rules()).empty());
}

// Sampled one pixel at a time, in double precision.
bool plain_inside(const std::vector<float>& mask, std::int64_t side, const Region& box,
                  std::int64_t x, std::int64_t y) {
    const auto cell = [&](double row, double column) {
        const double end = double(side);
        const bool is_there = row >= 0 && column >= 0 && row < end && column < end;
        return is_there ? double(mask[std::size_t(row) * std::size_t(side) + std::size_t(column)])
                        : 0.0;
    };
    const double across = (double(x) + 0.5 - box.left) / box.width() * double(side) - 0.5;
    const double down = (double(y) + 0.5 - box.top) / box.height() * double(side) - 0.5;
    const double left = std::floor(across), top = std::floor(down);
    const double u = across - left, v = down - top;
    return (1 - v) * ((1 - u) * cell(top, left) + u * cell(top, left + 1)) +
               v * ((1 - u) * cell(top + 1, left) + u * cell(top + 1, left + 1)) >=
           0.5;
}

TEST(PastedMasks, AreThoseOfEveryPixelAlone) {
    for (unsigned seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 generator(seed);
        std::uniform_real_distribution<float> share(0, 1);
        const std::int64_t side = 1 + std::int64_t(seed % 9), width = 23, height = 17;
        std::vector<float> mask(std::size_t(side * side));
        for (float& value : mask) value = share(generator);
        const float left = share(generator) * 30 - 5, top = share(generator) * 25 - 5;
        const Region box{left, top, left + share(generator) * 20, top + share(generator) * 20};
        const RunMask found = pasted_mask(mask, side, box, width, height, {});
        std::size_t at = 0;
        bool inside = false;
        for (const std::uint32_t run : found.runs) {
            for (std::uint32_t i = 0; i < run; ++i, ++at)
                ASSERT_EQ(inside, plain_inside(mask, side, box, std::int64_t(at) / height,
                                               std::int64_t(at) % height))
                    << at;
            inside = !inside;
        }
        EXPECT_EQ(at, std::size_t(width * height));
    }
}

TEST(PastedMasks, BoxesWithoutAreaOrEndAreEmpty) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    constexpr float kEndless = std::numeric_limits<float>::infinity();
    const std::vector<float> full(4, 1.0F);
    for (const RegionRules& rules : {RegionRules(), torchvision_region_rules()}) {
        for (const Region& box :
             {Region{1, 1, 1, 5}, Region{5, 5, 1, 1}, Region{kNone, 0, 5, 5},
              Region{0, 0, kEndless, 5}, Region{-3e38F, 0, 3e38F, 5}, Region{1e30F, 0, 2e30F, 5}}) {
            const RunMask found = pasted_mask(full, 2, box, 10, 9, rules);
            EXPECT_EQ(found.runs, (std::vector<std::uint32_t>{90}));
        }
        const std::vector<float> missing(4, kNone);
        EXPECT_TRUE(pasted_mask(missing, 2, {0, 0, 10, 9}, 10, 9, rules).empty());
        // Far beyond the image on both sides.
        EXPECT_EQ(pasted_mask(full, 2, {-1e20F, -1e20F, 1e20F, 1e20F}, 10, 9, rules).runs,
                  (std::vector<std::uint32_t>{0, 90}));
    }
}

TEST(PastedMasks, WhatIsNoSquareIsAnError) {
    const std::vector<float> full(4, 1.0F);
    EXPECT_THAT(error_of([&] {
                    pasted_mask(full, 3, {0, 0, 5, 5}, 10, 9, {});
                }),
                HasSubstr("expected 3x3 probabilities, found 4"));
    EXPECT_THAT(error_of([&] { pasted_mask({}, 0, {0, 0, 5, 5}, 10, 9, {}); }), HasSubstr("0x0"));
    EXPECT_THAT(error_of([&] {
                    pasted_mask(full, 2, {0, 0, 5, 5}, 0, 9, {});
                }),
                HasSubstr("0x9 pixels"));
    EXPECT_THAT(error_of([&] {
                    pasted_mask(full, 2, {0, 0, 5, 5}, 1 << 20, 1 << 20, {});
                }),
                HasSubstr("cannot be laid over"));
}

}  // namespace
}  // namespace cait
