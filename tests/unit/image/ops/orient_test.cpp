#include "image/ops/orient.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace cait::test {
namespace {

// 1 2 3
// 4 5 6 as it was stored, and what each orientation makes of it.
TEST(Orient, AllEight) {
    const std::array<std::vector<std::uint8_t>, 9> expected{{{},
                                                             {1, 2, 3, 4, 5, 6},
                                                             {3, 2, 1, 6, 5, 4},
                                                             {6, 5, 4, 3, 2, 1},
                                                             {4, 5, 6, 1, 2, 3},
                                                             {1, 4, 2, 5, 3, 6},
                                                             {4, 1, 5, 2, 6, 3},
                                                             {6, 3, 5, 2, 4, 1},
                                                             {3, 6, 2, 5, 1, 4}}};
    for (int orientation = 1; orientation <= 8; ++orientation) {
        const Image turned = orient({3, 2, 1, {1, 2, 3, 4, 5, 6}}, orientation);
        EXPECT_EQ(turned.width, orientation < 5 ? 3 : 2);
        EXPECT_EQ(turned.height, orientation < 5 ? 2 : 3);
        EXPECT_EQ(turned.pixels, expected[std::size_t(orientation)]) << orientation;
    }
}

TEST(Orient, KeepsTheChannelsOfAPixelTogether) {
    const Image turned = orient({2, 1, 3, {1, 2, 3, 4, 5, 6}}, 6);
    EXPECT_EQ(turned, (Image{1, 2, 3, {1, 2, 3, 4, 5, 6}}));
    EXPECT_EQ(orient({2, 1, 3, {1, 2, 3, 4, 5, 6}}, 2), (Image{2, 1, 3, {4, 5, 6, 1, 2, 3}}));
}

}  // namespace
}  // namespace cait::test
