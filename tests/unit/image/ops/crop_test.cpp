#include "image/ops/crop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cait {
namespace {

Image counted(std::int64_t width, std::int64_t height) {
    Image image = Image::blank(width, height, 1);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = std::uint8_t(i + 1);
    return image;
}

TEST(Crop, PadsWithAColour) {
    Image result;
    crop(counted(2, 2), -1, -1, 4, 3, Padding::colour, {9, 9, 9}, result);
    EXPECT_THAT(result.pixels, testing::ElementsAre(9, 9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9));
    crop(counted(2, 2), 5, 0, 2, 1, Padding::colour, {9, 9, 9}, result);
    EXPECT_THAT(result.pixels, testing::ElementsAre(9, 9));
}

TEST(Crop, MirrorsWithoutRepeatingTheEdge) {
    Image result;
    crop(counted(3, 1), -2, 0, 7, 1, Padding::reflect, {}, result);
    EXPECT_THAT(result.pixels, testing::ElementsAre(3, 2, 1, 2, 3, 2, 1));
    crop(counted(1, 2), -2, -1, 3, 3, Padding::reflect, {}, result);
    EXPECT_THAT(result.pixels, testing::ElementsAre(2, 2, 2, 1, 1, 1, 2, 2, 2));
}

TEST(Crop, KeepsThreeChannelsTogether) {
    Image source = Image::blank(2, 1, 3);
    source.pixels = {1, 2, 3, 4, 5, 6};
    Image result;
    crop(source, -1, 0, 4, 1, Padding::colour, {7, 8, 9}, result);
    EXPECT_THAT(result.pixels, testing::ElementsAre(7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    crop(source, -1, 0, 4, 1, Padding::reflect, {}, result);
    EXPECT_THAT(result.pixels, testing::ElementsAre(4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3));
}

// Python rounds halves to even: (7 - 4) / 2 starts at 2, (9 - 4) / 2 at 2 as well.
TEST(Crop, CentresAsTorchvisionDoes) {
    EXPECT_EQ(centred_start(8, 4), 2);
    EXPECT_EQ(centred_start(7, 4), 2);
    EXPECT_EQ(centred_start(9, 4), 2);
    EXPECT_EQ(centred_start(5, 4), 0);
    EXPECT_EQ(centred_start(4, 4), 0);
    EXPECT_EQ(centred_start(4, 7), -1);
    EXPECT_EQ(centred_start(4, 8), -2);
}

}  // namespace
}  // namespace cait
