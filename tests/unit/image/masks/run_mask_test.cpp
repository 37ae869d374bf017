// Masks as runs: pycocotools' numbers exactly, and hostile runs and polygons.
#include "image/masks/run_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cait/error.h"
#include "golden/golden_case.h"
#include "support/case_count.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Overlaps of a golden case are with those of its size before it, itself included.
struct SeenMasks {
    std::vector<RunMask> masks;

    void expect_overlaps(const RunMask& mask, const nlohmann::json& expected) {
        masks.push_back(mask);
        std::vector<const RunMask*> others;
        for (const RunMask& other : masks)
            if (other.width == mask.width && other.height == mask.height) others.push_back(&other);
        const std::size_t count = std::min<std::size_t>(4, others.size());
        ASSERT_EQ(expected.size(), 2 * count);
        for (std::size_t i = 0; i < 2 * count; ++i)
            EXPECT_EQ(mask_overlap(mask, *others[others.size() - count + i % count], i >= count),
                      expected[i].get<double>())
                << i;
    }
};

void expect_golden(const RunMask& mask, const nlohmann::json& golden) {
    const auto text = golden["text"].get<std::string>();
    EXPECT_EQ(mask_text(mask), text);
    EXPECT_EQ(mask_of_text(text, mask.width, mask.height), mask);
    EXPECT_EQ(mask_of_counts(mask.runs, mask.width, mask.height), mask);
    EXPECT_EQ(mask_area(mask), golden["area"].get<std::uint64_t>());
    const Box box = mask_bounds(mask);
    EXPECT_EQ((std::vector<double>{box.left, box.top, box.right - box.left, box.bottom - box.top}),
              golden["bounds"].get<std::vector<double>>());
    EXPECT_EQ(run_mask(mask_pixels(mask), mask.width, mask.height), mask);
}

std::string message_of(const std::function<void()>& what) {
    try {
        what();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(RunMask, PolygonsAndPixelsHaveTheRunsBoundsAndOverlapsOfPycocotools) {
    const nlohmann::json golden = golden::read_json("run_masks.json");
    SeenMasks seen;
    test::CaseCount polygons(80), pixels(30);
    for (const auto& one : golden["polygons"]) {
        const auto corners = one["polygons"].get<std::vector<std::vector<double>>>();
        const RunMask mask = polygon_mask(corners, one["width"], one["height"]);
        SCOPED_TRACE(one.dump());
        expect_golden(mask, one);
        seen.expect_overlaps(mask, one["overlaps"]);
        ++polygons;
    }
    for (const auto& one : golden["pixels"]) {
        std::vector<std::uint8_t> values;
        for (const char c : one["pixels"].get<std::string>()) values.push_back(c == '1' ? 200 : 0);
        const RunMask mask = run_mask(values, one["width"], one["height"]);
        SCOPED_TRACE(one.dump());
        expect_golden(mask, one);
        seen.expect_overlaps(mask, one["overlaps"]);
        ++pixels;
    }
}

TEST(RunMask, RunsGoDownTheColumnsAndBeginOutside) {
    const std::vector<std::uint8_t> pixels = {1, 0, 0,  //
                                              1, 1, 0};
    const RunMask mask = run_mask(pixels, 3, 2);
    EXPECT_THAT(mask.runs, ElementsAre(0, 2, 1, 1, 2));
    EXPECT_EQ(mask_pixels(mask), pixels);
    EXPECT_EQ(mask_area(mask), 3U);
}

TEST(RunMask, AMaskWiderThanAStripIsEncodedAsANarrowOne) {
    std::vector<std::uint8_t> pixels(150 * 3);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = i % 7 < 3 ? 1 : 0;
    const RunMask mask = run_mask(pixels, 150, 3);
    EXPECT_EQ(mask_pixels(mask), pixels);
    EXPECT_EQ(mask_of_counts(mask.runs, 150, 3), mask);
}

TEST(RunMask, RunsOfNoLengthAreJoined) {
    const std::vector<std::uint32_t> counts = {2, 0, 1, 3, 0, 1, 0, 0, 5};
    const RunMask mask = mask_of_counts(counts, 4, 3);
    EXPECT_THAT(mask.runs, ElementsAre(3, 4, 5));
    const std::vector<std::uint32_t> nothing = {7, 0, 5};
    EXPECT_TRUE(mask_of_counts(nothing, 4, 3).empty());
    EXPECT_EQ(mask_bounds(mask_of_counts(nothing, 4, 3)).right, 0);
}

TEST(RunMask, RunsThatDoNotFillTheImageAreRefused) {
    const auto counts = [](std::vector<std::uint32_t> runs) {
        return message_of([&] { mask_of_counts(runs, 4, 3); });
    };
    EXPECT_EQ(counts({4, 4}), "mask: expected runs that fill 4x3 pixels exactly, found 4 too few");
    EXPECT_EQ(counts({4, 9}), "mask: expected runs that fill 4x3 pixels exactly, found more");
    EXPECT_EQ(counts({4294967295U, 4294967295U, 14}),
              "mask: expected runs that fill 4x3 pixels exactly, found more");
    EXPECT_THAT(counts({}), HasSubstr("12 too few"));
}

TEST(RunMask, HostileTextIsRefused) {
    const auto text = [](std::string_view runs) {
        return message_of([&] { mask_of_text(runs, 4, 3); });
    };
    EXPECT_EQ(text("<"), "no error");  // 12
    EXPECT_THAT(text(""), HasSubstr("12 too few"));
    EXPECT_THAT(text("X"), HasSubstr("ends within a number"));
    EXPECT_THAT(text("\x1f"), HasSubstr("found byte 31 at place 0"));
    EXPECT_THAT(text("p"), HasSubstr("found byte 112"));
    EXPECT_THAT(text("\xff"), HasSubstr("found byte 255"));
    EXPECT_THAT(text("@"), HasSubstr("found a run of -16"));
    EXPECT_THAT(text("XXXXXXXX"), HasSubstr("too long"));
    EXPECT_THAT(text("oooooo?"), HasSubstr("found more"));
}

TEST(RunMask, ASizeThatNoImageHasIsRefused) {
    const std::vector<std::uint32_t> none;
    for (const auto& [width, height] : {std::pair<std::int64_t, std::int64_t>{0, 5},
                                        {5, -1},
                                        {std::int64_t{1} << 40, std::int64_t{1} << 40},
                                        {65536, 65536}})
        EXPECT_THAT(message_of([&] { mask_of_counts(none, width, height); }),
                    HasSubstr("expected a size of 1 to 2147483647 pixels"))
            << width;
}

TEST(RunMask, MasksOfTwoSizesAreNotCompared) {
    const RunMask first{4, 3, {12}}, second{3, 4, {12}};
    EXPECT_THAT(message_of([&] { mask_overlap(first, second); }), HasSubstr("4x3 and 3x4"));
    const RunMask both[] = {first, second};
    EXPECT_THROW(joined_masks(both), Error);
}

TEST(RunMask, ACrowdIsComparedWithTheAreaOfTheFirstAlone) {
    const RunMask small{4, 1, {1, 1, 2}}, large{4, 1, {0, 3, 1}};
    EXPECT_DOUBLE_EQ(mask_overlap(small, large), 1.0 / 3);
    EXPECT_DOUBLE_EQ(mask_overlap(small, large, true), 1);
    EXPECT_DOUBLE_EQ(mask_overlap(large, small, true), 1.0 / 3);
}

TEST(PolygonMask, ARectangleOfWholePixelsFillsThem) {
    const std::vector<std::vector<double>> polygons = {{1, 1, 3, 1, 3, 2, 1, 2}};
    EXPECT_THAT(polygon_mask(polygons, 4, 3).runs, ElementsAre(4, 1, 2, 1, 4));
    EXPECT_THAT(polygon_mask({}, 4, 3).runs, ElementsAre(12));
}

TEST(PolygonMask, FarCornersCostNoMoreThanTheImage) {
    const std::vector<std::vector<double>> far = {{-4e8, -4e8, 4e8, -4e8, 4e8, 4e8, -4e8, 4e8}};
    EXPECT_THAT(polygon_mask(far, 300, 200).runs, ElementsAre(0, 60000));
    const std::vector<std::vector<double>> beside = {{-4e8, -4e8, -9, -4e8, -9, 4e8}};
    EXPECT_TRUE(polygon_mask(beside, 300, 200).empty());
}

// More crossings than are kept before those that cancel are left out.
TEST(PolygonMask, EdgesThatRunBackAndForthCancel) {
    std::vector<double> corners = {0, 0};
    for (int i = 0; i < 3000; ++i) corners.insert(corners.end(), {1000, 5, 0, 5});
    const std::vector<std::vector<double>> polygons = {corners};
    EXPECT_EQ(polygon_mask(polygons, 1000, 10),
              polygon_mask(std::vector<std::vector<double>>{{0, 0, 1000, 5, 0, 5}}, 1000, 10));
}

TEST(PolygonMask, WhatIsNoPolygonIsRefused) {
    const auto refused = [](std::vector<double> corners) {
        return message_of([&] { polygon_mask(std::vector<std::vector<double>>{corners}, 10, 10); });
    };
    EXPECT_THAT(refused({1, 2, 3, 4}), HasSubstr("at least 3 corners, found 4 numbers"));
    EXPECT_THAT(refused({1, 2, 3, 4, 5, 6, 7}), HasSubstr("found 7 numbers"));
    EXPECT_THAT(refused({1, 2, 3, 4, 5, std::nan("")}), HasSubstr("found nan"));
    EXPECT_THAT(refused({1, 2, 3, 4, std::numeric_limits<double>::infinity(), 5}),
                HasSubstr("found inf"));
    EXPECT_THAT(refused({1, 2, 3, 4, 1e12, 5}), HasSubstr("within 4e+08"));
}

}  // namespace
}  // namespace cait
