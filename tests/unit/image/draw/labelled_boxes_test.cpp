#include "image/draw/labelled_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "image/draw/draw.h"

namespace cait {
namespace {

constexpr Colour kRed{220, 20, 20};

Colour at(const Image& image, std::int64_t x, std::int64_t y) {
    const std::uint8_t* pixel = image.row(y) + 3 * x;
    return {pixel[0], pixel[1], pixel[2]};
}

// Pixels of a rectangle that are lighter than the grey of the images and their red: letters, whose
// edges are mixed with what is below.
int light_pixels(const Image& image, std::int64_t left, std::int64_t top, std::int64_t right,
                 std::int64_t bottom) {
    int count = 0;
    for (std::int64_t y = top; y < bottom; ++y)
        for (std::int64_t x = left; x < right; ++x) count += at(image, x, y)[1] > 150 ? 1 : 0;
    return count;
}

TEST(LabelledBoxes, TextStandsOnItsBoxOrInsideItAtTheTop) {
    const Image grey = filled(200, 150, {128, 128, 128});
    const LabelledBox low{.box = {40, 60, 120, 120}, .colour = kRed, .text = "cell 93 %"};
    const Image above = with_labelled_boxes(grey, std::vector{low});
    EXPECT_EQ(at(above, 41, 58), kRed);                     // the tag
    EXPECT_EQ(at(above, 80, 90), (Colour{128, 128, 128}));  // inside the box
    EXPECT_GT(light_pixels(above, 40, 40, 120, 60), 20);
    LabelledBox high = low;
    high.box.top = 2;
    const Image inside = with_labelled_boxes(grey, std::vector{high});
    EXPECT_GT(light_pixels(inside, 40, 2, 120, 20), 20);
    EXPECT_EQ(at(inside, 41, 1), (Colour{128, 128, 128}));
}

TEST(LabelledBoxes, TextStaysInsideTheImage) {
    const Image grey = filled(200, 150, {128, 128, 128});
    const std::vector<LabelledBox> boxes{
        {.box = {190, 60, 199, 120}, .colour = kRed, .text = "platelet 41 %"}};
    const Image drawn = with_labelled_boxes(grey, boxes);
    // Most of the text lies to the left of its box.
    EXPECT_GT(light_pixels(drawn, 100, 40, 190, 60), 20);
}

TEST(LabelledBoxes, TheFirstIsOnTop) {
    const Image grey = filled(100, 100, {128, 128, 128});
    const std::vector<LabelledBox> boxes{
        {.box = {20, 30, 80, 90}, .colour = kRed, .text = {}},
        {.box = {20, 30, 80, 90}, .colour = {0, 0, 255}, .text = {}}};
    EXPECT_EQ(at(with_labelled_boxes(grey, boxes), 20, 50), kRed);
}

TEST(LabelledBoxes, MasksAreTintedAndTheRestStays) {
    const Image grey = filled(60, 40, {128, 128, 128});
    std::vector<std::uint8_t> pixels(60 * 40);
    for (std::size_t y = 10; y < 30; ++y)
        for (std::size_t x = 20; x < 40; ++x) pixels[y * 60 + x] = 1;
    const std::vector<LabelledBox> boxes{
        {.box = {15, 5, 45, 35}, .colour = kRed, .text = {}, .mask = run_mask(pixels, 60, 40)}};
    const Image drawn = with_labelled_boxes(grey, boxes);
    EXPECT_GT(at(drawn, 30, 20)[0], 150);
    EXPECT_LT(at(drawn, 30, 20)[1], 100);
    EXPECT_EQ(at(drawn, 17, 20), (Colour{128, 128, 128}));
}

TEST(LabelledBoxes, InkIsReadableOnLightAndDark) {
    EXPECT_EQ(ink_on({255, 255, 255}), (Colour{0, 0, 0}));
    EXPECT_EQ(ink_on({250, 220, 60}), (Colour{0, 0, 0}));
    EXPECT_EQ(ink_on({0, 0, 0}), (Colour{255, 255, 255}));
    EXPECT_EQ(ink_on({30, 30, 160}), (Colour{255, 255, 255}));
}

TEST(LabelledBoxes, GreyTinyAndStrangeIsDrawnAllTheSame) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const std::vector<LabelledBox> boxes{
        {.box = {-50, -50, 500, 500}, .colour = kRed, .text = "beyond the image"},
        {.box = {none, none, none, none}, .colour = kRed, .text = "nowhere"},
        {.box = {0.2, 0.2, 0.4, 0.4}, .colour = kRed, .text = std::string(5000, 'x')}};
    for (const auto& [width, height] : {std::pair{1, 1}, {3, 200}, {64, 48}}) {
        const Image drawn = with_labelled_boxes(Image::blank(width, height, 1), boxes);
        EXPECT_EQ(drawn.width, width);
        EXPECT_EQ(drawn.height, height);
        EXPECT_EQ(drawn.channels, 3);
    }
}

}  // namespace
}  // namespace cait
