// The arithmetic of boxes against torchvision's and mmdetection's numbers (make_regions.py).
#include "models/regions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "golden/golden_case.h"
#include "golden/made_boxes.h"
#include "support/case_count.h"

namespace cait {
namespace {

using Json = nlohmann::json;

RegionRules rules_named(const Json& name) {
    return name == "torchvision" ? torchvision_region_rules() : RegionRules();
}

Region region_at(const std::vector<float>& boxes, std::size_t i) {
    return {boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]};
}

void expect_region(const Region& found, const Json& numbers, std::size_t i, double tolerance) {
    const float sides[] = {found.left, found.top, found.right, found.bottom};
    for (std::size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(sides[k], numbers[4 * i + k].get<double>(), tolerance) << i << ", " << k;
}

TEST(Regions, AnchorsAreThoseOfBothReferences) {
    test::CaseCount cases(20);
    const Json stored = golden::read_json("regions.json");
    for (const Json& one : stored["anchors"]) {
        SCOPED_TRACE(one.dump().substr(0, 120));
        const std::vector<Region> found =
            anchors(one["level"], {one["map"][0], one["map"][1]},
                    {one["input"][0], one["input"][1]}, rules_named(one["rules"]));
        ASSERT_EQ(found.size(), one["count"].get<std::size_t>());
        for (std::size_t i = 0; i < 4; ++i) {
            expect_region(found[i], one["first"], i, 2e-4);
            expect_region(found[found.size() - 4 + i], one["last"], i, 2e-4);
        }
        ++cases;
    }
}

// 160 pixels make 3 places of the last level: torchvision puts its anchors 53 pixels apart.
TEST(Regions, StridesOfTheLastLevelFitTheInput) {
    const auto second = [](const RegionRules& rules) {
        return anchors(4, {3, 4}, {160, 224}, rules)[4 * 3].top -
               anchors(4, {3, 4}, {160, 224}, rules)[0].top;
    };
    EXPECT_EQ(second(torchvision_region_rules()), 53);
    EXPECT_EQ(second({}), 64);
}

TEST(Regions, DeltasMoveAsInBothReferences) {
    const Json stored = golden::read_json("regions.json")["deltas"][0];
    const std::vector<float> from = golden::made_boxes("regions.from", 40, 300, 200, 120);
    const std::vector<float> to = golden::made_boxes("regions.to", 40, 300, 200, 120);
    const std::vector<float> deltas = golden::made_numbers("regions.deltas", 160, 30);
    const RegionRules mmdet, torchvision = torchvision_region_rules();
    test::CaseCount cases(40);
    for (std::size_t i = 0; i < 40; ++i) {
        const float* each = deltas.data() + 4 * i;
        expect_region(moved(region_at(from, i), each, mmdet.box_std, mmdet), stored["mmdet"], i,
                      0.02);
        expect_region(moved(region_at(from, i), each, mmdet.box_std, torchvision),
                      stored["torchvision"], i, 0.02);
        const auto between = deltas_between(region_at(from, i), region_at(to, i), mmdet.box_std);
        for (std::size_t k = 0; k < 4; ++k)
            EXPECT_NEAR(between[k], stored["between"][4 * i + k].get<double>(), 2e-3);
        const Region back = moved(region_at(from, i), between.data(), mmdet.box_std, torchvision);
        const Region wanted = region_at(to, i);
        EXPECT_NEAR(back.left, wanted.left, 1e-3);
        EXPECT_NEAR(back.bottom, wanted.bottom, 1e-3);
        ++cases;
    }
}

TEST(Regions, SidesGrowAndShrinkWithinBounds) {
    const Region from{0, 0, 10, 20};
    const std::array<float, 4> plain{1, 1, 1, 1};
    const float large[] = {0, 0, 50, -50};
    const Region both = moved(from, large, plain, {});
    EXPECT_NEAR(both.width(), 10 * 1000.0 / 16, 1e-2);
    EXPECT_NEAR(both.height(), 20 * 16.0 / 1000, 1e-5);
    const Region one = moved(from, large, plain, torchvision_region_rules());
    EXPECT_NEAR(one.width(), 10 * 1000.0 / 16, 1e-2);
    EXPECT_LT(one.height(), 1e-18);
}

TEST(Regions, LevelsAreThoseOfBothReferences) {
    test::CaseCount cases(17);
    const Json stored = golden::read_json("regions.json");
    for (const Json& one : stored["levels"]) {
        const double side = one["side"];
        const Region region{5, 7, float(5 + side), float(7 + side)};
        EXPECT_EQ(level_of(region, torchvision_region_rules()),
                  one["torchvision"].get<std::size_t>())
            << side;
        EXPECT_EQ(level_of(region, {}), one["mmdet"].get<std::size_t>()) << side;
        ++cases;
    }
}

TEST(Regions, LevelsOfRegionsWithoutAreaOrEndAreTheFirst) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    constexpr float kEndless = std::numeric_limits<float>::infinity();
    for (const RegionRules& rules : {RegionRules(), torchvision_region_rules()})
        for (const Region& region :
             {Region{3, 3, 3, 90}, Region{9, 9, 1, 20}, Region{0, 0, kNone, 4},
              Region{0, 0, kEndless, kEndless}, Region{-3e38F, 0, 3e38F, 9}})
            EXPECT_EQ(level_of(region, rules), 0U);
    EXPECT_EQ(level_of({0, 0, 1e6F, 1e6F}, {}), kPooledLevels - 1);
}

TEST(Regions, ClippingAndOverlapOfKnownBoxes) {
    EXPECT_EQ(clipped({-3, 4, 120, 90}, {80, 100}), (Region{0, 4, 100, 80}));
    EXPECT_EQ(clipped({130, -9, 140, -2}, {80, 100}), (Region{100, 0, 100, 0}));
    EXPECT_FLOAT_EQ(overlap({0, 0, 10, 10}, {5, 0, 15, 10}), 50.0F / 150);
    EXPECT_FLOAT_EQ(overlap({0, 0, 10, 10}, {2, 2, 4, 7}), 0.1F);
    EXPECT_EQ(overlap({0, 0, 10, 10}, {10, 0, 20, 10}), 0);
    EXPECT_EQ(overlap({5, 5, 5, 5}, {5, 5, 5, 5}), 0);
    EXPECT_EQ(overlap({0, 0, std::nanf(""), 10}, {0, 0, 10, 10}), 0);
}

}  // namespace
}  // namespace cait
