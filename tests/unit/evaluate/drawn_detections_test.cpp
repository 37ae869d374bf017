#include "evaluate/drawn_detections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "image/draw/draw.h"

namespace cait {
namespace {

constexpr Colour kGrey{128, 128, 128}, kRed{220, 20, 20};

Colour colour_at(const Image& image, std::int64_t x, std::int64_t y) {
    const std::uint8_t* pixel = image.row(y) + 3 * x;
    return {pixel[0], pixel[1], pixel[2]};
}

const SegmentClasses& one_class() {
    static const SegmentClasses classes{{"nucleus"}, {kRed}};
    return classes;
}

DetectedObject object_at(float left, float top, float right, float bottom) {
    return {.label = 0, .score = 0.93F, .box = {left, top, right, bottom}};
}

TEST(DrawnDetections, SmallImagesAreEnlargedAWholeNumberOfTimes) {
    EXPECT_EQ(drawing_scale(256, 256), 4);
    EXPECT_EQ(drawing_scale(40, 30), 4);
    EXPECT_EQ(drawing_scale(320, 260), 3);
    EXPECT_EQ(drawing_scale(300, 512), 2);
    EXPECT_EQ(drawing_scale(513, 100), 1);
    EXPECT_EQ(drawing_scale(4000, 3000), 1);
    EXPECT_EQ(drawing_scale(0, 0), 4);
}

// Two cells of 20 pixels, as they are in micrographs of 256: the name of the lower one leaves most
// of the upper one to be seen.
TEST(DrawnDetections, NamesLeaveSmallObjectsToBeSeen) {
    const Image grey = filled(256, 256, kGrey);
    const std::vector<DetectedObject> cells{object_at(100, 130, 120, 150),
                                            object_at(100, 100, 120, 120)};
    const Image drawn = drawn_detections(grey, cells, one_class());
    ASSERT_EQ(drawn.width, 1024);
    ASSERT_EQ(drawn.height, 1024);
    EXPECT_EQ(colour_at(drawn, 4 * 100, 4 * 140), kRed);  // the left edges of the boxes
    EXPECT_EQ(colour_at(drawn, 4 * 100, 4 * 110), kRed);
    EXPECT_EQ(colour_at(drawn, 4 * 110, 4 * 140), kGrey);  // inside of them
    EXPECT_EQ(colour_at(drawn, 4 * 110, 4 * 110), kGrey);
    EXPECT_EQ(colour_at(drawn, 4 * 100 + 1, 4 * 130 - 3), kRed);  // the name above the lower one
}

TEST(DrawnDetections, MasksGrowWithTheImage) {
    const Image grey = filled(60, 40, kGrey);
    std::vector<std::uint8_t> pixels(60 * 40);
    for (std::size_t y = 10; y < 30; ++y)
        for (std::size_t x = 20; x < 40; ++x) pixels[y * 60 + x] = 1;
    DetectedObject one = object_at(15, 5, 45, 35);
    one.mask = run_mask(pixels, 60, 40);
    const Image drawn = drawn_detections(grey, std::vector{one}, one_class());
    ASSERT_EQ(drawn.width, 240);
    for (const auto& [x, y] : {std::pair{82, 60}, {157, 60}, {120, 117}}) {  // just inside
        EXPECT_GT(colour_at(drawn, x, y)[0], 150) << x << " " << y;
        EXPECT_LT(colour_at(drawn, x, y)[1], 100) << x << " " << y;
    }
    EXPECT_EQ(colour_at(drawn, 76, 60), kGrey);
    EXPECT_EQ(colour_at(drawn, 163, 60), kGrey);
}

TEST(DrawnDetections, LargeImagesKeepTheirSize) {
    const Image grey = filled(700, 500, kGrey);
    const Image drawn =
        drawn_detections(grey, std::vector{object_at(100, 100, 400, 300)}, one_class());
    EXPECT_EQ(drawn.width, 700);
    EXPECT_EQ(drawn.height, 500);
    EXPECT_EQ(colour_at(drawn, 100, 200), kRed);
}

}  // namespace
}  // namespace cait
