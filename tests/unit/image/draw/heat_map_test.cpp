#include "image/draw/heat_map.h"

#include <gtest/gtest.h>

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
    const Image shown = overlay(black, {2, 2, values}, 1);
    const auto at = [&](int x, int y) { return shown.pixels[std::size_t(3 * (32 * y + x))]; };
    EXPECT_GT(at(30, 30), at(2, 30) + 100);
    EXPECT_GT(at(30, 30), at(30, 2) + 100);
    EXPECT_EQ(overlay(black, {2, 2, values}, 0), black);
}

TEST(HeatMap, AFlatMapAndAGreyImageAreFine) {
    const std::vector<float> values(6, 0.25F);
    EXPECT_EQ(overlay(Image::blank(9, 4, 1), {3, 2, values}).channels, 3);
}

TEST(HeatMap, RefusesWhatItCannotShow) {
    const std::vector<float> values = {1, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_THROW(overlay(Image::blank(4, 4, 3), {2, 1, values}), Error);
    EXPECT_THROW(overlay(Image::blank(4, 4, 3), {2, 2, values}), Error);
}

}  // namespace
}  // namespace cait
