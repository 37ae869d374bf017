#include "image/draw/heat_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cait/error.h"

namespace cait {
namespace {

int brightness(const Colour& colour) { return colour[0] + colour[1] + colour[2]; }

TEST(HeatMap, BrightnessRisesWithTheValue) {
    for (int i = 0; i < 20; ++i)
        EXPECT_LT(brightness(heat_colour(i / 20.0)), brightness(heat_colour((i + 1) / 20.0))) << i;
    EXPECT_EQ(heat_colour(-1), heat_colour(0));
    EXPECT_EQ(heat_colour(2), heat_colour(1));
}

TEST(HeatMap, TheLargestValueIsBrightAndInItsPlace) {
    const std::vector<float> values = {0, 0, 0, 5};  // bottom right
    const Image black = Image::blank(32, 32, 3);
    const Box kWhole{0, 0, 32, 32};
    const Image shown = overlay(black, {2, 2, values}, kWhole, 1);
    const auto at = [&](int x, int y) { return shown.pixels[std::size_t(3 * (32 * y + x))]; };
    EXPECT_GT(at(30, 30), at(2, 30) + 100);
    EXPECT_GT(at(30, 30), at(30, 2) + 100);
    EXPECT_EQ(overlay(black, {2, 2, values}, kWhole, 0), black);
}

TEST(HeatMap, WhatItDoesNotCoverIsDarker) {
    const std::vector<float> values = {0, 1};
    Image white = Image::blank(40, 20, 3);
    std::ranges::fill(white.pixels, 255);
    // The middle square; the map reaches ten rows beyond the image at the bottom.
    const Image shown = overlay(white, {1, 2, values}, {10, 0, 30, 30}, 1);
    const auto at = [&](std::int64_t x, std::int64_t y) {
        const std::uint8_t* pixel = shown.row(y) + 3 * x;
        return Colour{pixel[0], pixel[1], pixel[2]};
    };
    EXPECT_EQ(at(9, 0), (Colour{102, 102, 102}));
    EXPECT_EQ(at(30, 19), (Colour{102, 102, 102}));
    EXPECT_EQ(at(10, 0), heat_colour(0));
    EXPECT_EQ(at(29, 0), heat_colour(0));
    EXPECT_GT(brightness(at(20, 19)), brightness(at(20, 10)));
}

TEST(HeatMap, AFlatMapAndAGreyImageAreFine) {
    const std::vector<float> values(6, 0.25F);
    EXPECT_EQ(overlay(Image::blank(9, 4, 1), {3, 2, values}, {0, 0, 9, 4}).channels, 3);
}

TEST(HeatMap, RefusesWhatItCannotShow) {
    const std::vector<float> values = {1, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_THROW(overlay(Image::blank(4, 4, 3), {2, 1, values}, {0, 0, 4, 4}), Error);
    EXPECT_THROW(overlay(Image::blank(4, 4, 3), {2, 2, values}, {0, 0, 4, 4}), Error);
    const std::vector<float> good(4, 1);
    EXPECT_THROW(overlay(Image::blank(4, 4, 3), {2, 2, good}, {5, 0, 9, 4}), Error);
}

}  // namespace
}  // namespace cait
