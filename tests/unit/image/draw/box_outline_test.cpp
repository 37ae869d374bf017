// Boxes and masks over a photograph, pixel by pixel.
#include "image/draw/box_outline.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "cait/error.h"

namespace cait {
namespace {

// A grey picture as text: '.' for 0, '#' for 200, '+' for anything between.
std::string shown(const Image& image) {
    std::string text;
    for (std::int64_t y = 0; y < image.height; ++y) {
        for (std::int64_t x = 0; x < image.width; ++x) {
            const std::uint8_t value = *(image.row(y) + x);
            text += value == 0 ? '.' : value == 200 ? '#' : '+';
        }
        text += '\n';
    }
    return text;
}

constexpr Colour kLight{200, 200, 200};

TEST(BoxOutline, ABoxIsItsEdges) {
    Image canvas = Image::blank(7, 6, 1);
    draw_box(canvas, {1, 1, 6, 5}, kLight, 1);
    EXPECT_EQ(shown(canvas),
              ".......\n"
              ".#####.\n"
              ".#...#.\n"
              ".#...#.\n"
              ".#####.\n"
              ".......\n");
}

TEST(BoxOutline, AWideLineLiesInside) {
    Image canvas = Image::blank(7, 7, 1);
    draw_box(canvas, {0.4, 0.4, 6.6, 6.6}, kLight, 2);
    EXPECT_EQ(shown(canvas),
              "#######\n"
              "#######\n"
              "##...##\n"
              "##...##\n"
              "##...##\n"
              "#######\n"
              "#######\n");
}

TEST(BoxOutline, WhatIsOutsideIsClipped) {
    Image canvas = Image::blank(4, 3, 1);
    draw_box(canvas, {-1e30, 1, 2, 1e30}, kLight, 1);
    EXPECT_EQ(shown(canvas),
              "....\n"
              "##..\n"
              ".#..\n");
}

TEST(BoxOutline, ABoxOfNoAreaIsAPixelAndOneOfNoNumbersNothing) {
    Image canvas = Image::blank(3, 2, 1);
    draw_box(canvas, {1, 0, 1, 0}, kLight, 3);
    draw_box(canvas, {std::numeric_limits<double>::quiet_NaN(), 0, 2, 2}, kLight, 1);
    EXPECT_EQ(shown(canvas), ".#.\n...\n");
}

TEST(BoxOutline, AMaskIsTintedWithAPureBorder) {
    Image canvas = Image::blank(5, 5, 1);
    const std::vector<std::uint8_t> pixels = {0, 0, 0, 0, 0,  //
                                              0, 1, 1, 1, 0,  //
                                              0, 1, 1, 1, 0,  //
                                              0, 1, 1, 1, 1,  //
                                              0, 0, 0, 0, 0};
    tint_mask(canvas, run_mask(pixels, 5, 5), kLight, 0.5);
    EXPECT_EQ(shown(canvas),
              ".....\n"
              ".###.\n"
              ".#+#.\n"
              ".####\n"
              ".....\n");
    EXPECT_EQ(canvas.row(2)[2], 100);
    EXPECT_THROW(tint_mask(canvas, RunMask{4, 5, {20}}, kLight), Error);
}

TEST(BoxOutline, LinesGrowWithTheImage) {
    EXPECT_EQ(outline_width(Image::blank(64, 64, 1)), 1);
    EXPECT_EQ(outline_width(Image::blank(100, 1000, 1)), 3);
}

}  // namespace
}  // namespace cait
