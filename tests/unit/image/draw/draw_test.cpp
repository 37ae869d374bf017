// Drawing stays inside the image, whatever it is asked to draw.
#include "image/draw/draw.h"

#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

constexpr Colour kWhite{255, 255, 255};
constexpr Colour kDrawRed{200, 10, 20};

std::int64_t count(const Image& image, const Colour& colour) {
    std::int64_t found = 0;
    for (std::size_t i = 0; i < image.pixels.size(); i += 3)
        found += image.pixels[i] == colour[0] && image.pixels[i + 1] == colour[1] &&
                 image.pixels[i + 2] == colour[2];
    return found;
}

TEST(Draw, RectanglesAreClipped) {
    Image canvas = filled(10, 8, kWhite);
    EXPECT_EQ(count(canvas, kWhite), 80);
    fill_rectangle(canvas, 2, 3, 4, 2, kDrawRed);
    EXPECT_EQ(count(canvas, kDrawRed), 8);
    EXPECT_EQ(canvas.row(3)[2 * 3], kDrawRed[0]);
    fill_rectangle(canvas, -3, -3, 4, 4, kDrawRed);
    fill_rectangle(canvas, 9, 7, 100, 100, kDrawRed);
    EXPECT_EQ(count(canvas, kDrawRed), 10);
    fill_rectangle(canvas, 20, 0, 5, 5, kDrawRed);
    fill_rectangle(canvas, 0, -9, 5, 5, kDrawRed);
    fill_rectangle(canvas, 4, 4, -2, 3, kDrawRed);
    EXPECT_EQ(count(canvas, kDrawRed), 10);
}

TEST(Draw, PastedImagesAreClipped) {
    Image canvas = filled(6, 6, kWhite);
    const Image patch = filled(3, 3, kDrawRed);
    paste(canvas, patch, -1, -2);
    EXPECT_EQ(count(canvas, kDrawRed), 2);
    paste(canvas, patch, 4, 4);
    EXPECT_EQ(count(canvas, kDrawRed), 6);
    paste(canvas, patch, 6, 0);
    paste(canvas, patch, 0, -3);
    EXPECT_EQ(count(canvas, kDrawRed), 6);
}

TEST(Draw, GreyOnColour) {
    Image canvas = filled(2, 1, kWhite);
    Image grey = Image::blank(1, 1, 1);
    grey.pixels[0] = 77;
    paste(canvas, grey, 1, 0);
    EXPECT_EQ(count(canvas, {77, 77, 77}), 1);
    EXPECT_THROW(paste(grey, canvas, 0, 0), Error);
}

TEST(Draw, NearestScalingRepeatsPixels) {
    Image image = Image::blank(2, 1, 1);
    image.pixels = {10, 20};
    const Image large = scaled(image, 6, 2, Scaling::nearest);
    EXPECT_EQ(large.pixels, (std::vector<std::uint8_t>{10, 10, 10, 20, 20, 20,  //
                                                       10, 10, 10, 20, 20, 20}));
    EXPECT_EQ(scaled(large, 2, 1, Scaling::nearest), image);
    EXPECT_THROW(scaled(image, 0, 1, Scaling::nearest), Error);
}

TEST(Draw, FittedKeepsTheShape) {
    const auto size = [](std::int64_t width, std::int64_t height, std::int64_t side) {
        const Image image = fitted(Image::blank(width, height, 3), side);
        return std::pair(image.width, image.height);
    };
    EXPECT_EQ(size(28, 28, 112), std::pair(112L, 112L));
    EXPECT_EQ(size(28, 14, 100), std::pair(84L, 42L));  // by a whole number
    EXPECT_EQ(size(500, 375, 224), std::pair(224L, 168L));
    EXPECT_EQ(size(5000, 1, 100), std::pair(100L, 1L));
    EXPECT_EQ(size(224, 100, 224), std::pair(224L, 100L));
}

}  // namespace
}  // namespace cait
