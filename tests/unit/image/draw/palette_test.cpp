#include "image/draw/palette.h"

#include <gmock/gmock.h>

#include <set>

#include "cait/error.h"
#include "image/codec/decode.h"
#include "image/codec/encode.h"
#include "image/draw/legend.h"

namespace cait {
namespace {

using testing::ElementsAre;

TEST(Palette, DefaultColoursDiffer) {
    std::set<Colour> seen;
    for (std::size_t i = 0; i < 150; ++i) seen.insert(default_class_colour(i));
    EXPECT_EQ(seen.size(), 150U);
    for (std::size_t i = 0; i + 1 < 150; ++i) {
        const Colour a = default_class_colour(i), b = default_class_colour(i + 1);
        int away = 0;
        for (std::size_t c = 0; c < 3; ++c) away += std::abs(int(a[c]) - int(b[c]));
        EXPECT_GT(away, 100) << i;
    }
}

TEST(Palette, GivenColoursComeFirst) {
    const std::vector<Colour> given{{1, 2, 3}, {4, 5, 6}};
    EXPECT_THAT(class_colours(given, 3), ElementsAre(given[0], given[1], default_class_colour(2)));
    EXPECT_THAT(class_colours(given, 1), ElementsAre(given[0]));
}

// White, with classes 0 | 1 over 255 | 0: the first row has borders below, so it is pure.
TEST(Palette, OverlayMixesColoursAndLeavesTheUnlabelled) {
    Image white = Image::blank(2, 2, 3);
    std::ranges::fill(white.pixels, 255);
    const std::vector<Colour> colours{{0, 0, 0}, {10, 20, 30}};
    const Image shown = label_overlay(white, std::vector<std::uint8_t>{0, 1, 255, 0}, colours, 0.6);
    EXPECT_THAT(shown.pixels, ElementsAre(0, 0, 0, 10, 20, 30, 255, 255, 255, 102, 102, 102));
    EXPECT_THROW(label_overlay(white, std::vector<std::uint8_t>{0, 1, 1}, colours), Error);
}

TEST(Palette, LabelPngKeepsValuesAndShowsColours) {
    Image labels = Image::blank(3, 1, 1);
    labels.pixels = {0, 2, 255};
    const std::vector<Colour> colours{{9, 8, 7}, {1, 1, 1}, {50, 60, 70}};
    const std::vector<std::byte> png = encode_palette_png(labels, colours);
    EXPECT_EQ(probe_image(png, "labels").bits, 8);
    EXPECT_EQ(std::to_integer<int>(png[25]), 3);  // IHDR's colour type: a palette
    EXPECT_THAT(decode_image(png, "labels").pixels, ElementsAre(9, 8, 7, 50, 60, 70, 0, 0, 0));
    labels.pixels[1] = 3;
    EXPECT_THROW(encode_palette_png(labels, colours), Error);
    EXPECT_THROW(encode_palette_png(Image::blank(1, 1, 3), colours), Error);
}

TEST(Palette, ALegendIsBelowThePicture) {
    const Image picture = Image::blank(400, 50, 3);
    const std::vector<LegendEntry> entries{{{200, 0, 0}, "road 41.2 %"}, {{0, 0, 200}, "sky"}};
    const Image shown = with_legend(picture, entries);
    EXPECT_EQ(shown.width, 400);
    EXPECT_GT(shown.height, 70);
    std::set<Colour> seen;
    for (std::size_t i = 0; i < shown.pixels.size(); i += 3)
        seen.insert({shown.pixels[i], shown.pixels[i + 1], shown.pixels[i + 2]});
    EXPECT_TRUE(seen.contains(entries[0].colour) && seen.contains(entries[1].colour));
    EXPECT_EQ(with_legend(picture, {}), picture);
    // Many names take several lines, and a narrow picture gets a margin.
    const std::vector<LegendEntry> many(40, {{1, 2, 3}, "a long name of a class"});
    EXPECT_GT(with_legend(Image::blank(20, 20, 3), many).height, 20 + 20 * 16);
}

}  // namespace
}  // namespace cait
