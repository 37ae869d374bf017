#include "image/draw/heat_map.h"

#include <gmock/gmock.h>

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

// (x - min) / (max - min) of the thesis, section 3.7.2.5.
TEST(Saliency, IsNormalisedByItsLeastAndItsMost) {
    const std::vector<float> values = {0.002F, 0.010F, 0.004F, 0.006F};
    EXPECT_THAT(normalised(values),
                testing::Pointwise(testing::FloatNear(1e-6F), {0.0F, 1.0F, 0.25F, 0.5F}));
    EXPECT_THAT(normalised(std::vector<float>(3, 0.2F)), testing::Each(0.0F));
    EXPECT_THAT(normalised(std::vector<float>{-3, 1, 5}), testing::ElementsAre(0, 0.5F, 1));
    EXPECT_TRUE(normalised({}).empty());
}

TEST(Saliency, MultipliesTheGreyImageAndColoursTheProduct) {
    Image photo = Image::blank(4, 2, 3);
    for (std::size_t i = 0; i < 8; ++i) {  // left half red, right half white
        const bool left = i % 4 < 2;
        photo.pixels[3 * i] = 255;
        photo.pixels[3 * i + 1] = photo.pixels[3 * i + 2] = left ? 0 : 255;
    }
    const auto at = [](const Image& image, std::int64_t x, std::int64_t y) {
        const std::uint8_t* pixel = image.row(y) + 3 * x;
        return Colour{pixel[0], pixel[1], pixel[2]};
    };
    // One value for each pixel: nothing is enlarged.
    const std::vector<float> values = {1, 3, 1, 3, 2, 2, 2, 2};
    const Image shown = saliency(photo, {4, 2, values}, {0, 0, 4, 2});
    constexpr double kRed = 76.0 / 255;  // as Pillow's grey has it
    EXPECT_EQ(at(shown, 0, 0), cividis_colour(0));
    EXPECT_EQ(at(shown, 1, 0), cividis_colour(kRed));
    EXPECT_EQ(at(shown, 2, 0), cividis_colour(0));
    EXPECT_EQ(at(shown, 3, 0), cividis_colour(1));
    EXPECT_EQ(at(shown, 0, 1), cividis_colour(128.0 / 255 * kRed));
    EXPECT_EQ(at(shown, 3, 1), cividis_colour(128.0 / 255));
    // Where the map is not, a darker grey.
    const Image beside = saliency(photo, {2, 2, std::vector<float>{1, 3, 2, 2}}, {0, 0, 2, 2});
    EXPECT_EQ(at(beside, 1, 0), cividis_colour(kRed));
    EXPECT_EQ(at(beside, 3, 0), (Colour{102, 102, 102}));
}

// Numbers of the published table (256 rows) at its ends and between our stops.
TEST(ColourMap, CividisIsThePublishedOne) {
    const auto near = [](const Colour& colour, const Colour& expected) {
        for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(colour[c], expected[c], 1) << c;
    };
    EXPECT_EQ(cividis_colour(0), (Colour{0, 34, 78}));
    EXPECT_EQ(cividis_colour(1), (Colour{254, 232, 56}));
    near(cividis_colour(7 / 255.0), {0, 40, 89});
    near(cividis_colour(128 / 255.0), {125, 124, 120});
    near(cividis_colour(200 / 255.0), {196, 180, 104});
    EXPECT_EQ(cividis_colour(-1), cividis_colour(0));
    for (int i = 0; i < 50; ++i)
        EXPECT_LT(brightness(cividis_colour(i / 50.0)), brightness(cividis_colour((i + 1) / 50.0)));
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
