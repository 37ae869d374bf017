// Text in pictures: measured as it is drawn, shortened to fit, and safe with any bytes.
#include "image/text/text.h"

#include <gmock/gmock.h>

#include <thread>

#include "image/draw/draw.h"

namespace cait {
namespace {

constexpr Colour kPaper{255, 255, 255};
constexpr Colour kInk{0, 0, 0};

struct Extent {
    std::int64_t left = 1 << 20, right = -1, top = 1 << 20, bottom = -1;  // -1: nothing is drawn
};

Extent inked(const Image& image) {
    Extent extent;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            if (image.row(y)[3 * x] < 250) {
                extent.left = std::min(extent.left, x);
                extent.right = std::max(extent.right, x);
                extent.top = std::min(extent.top, y);
                extent.bottom = std::max(extent.bottom, y);
            }
    return extent;
}

Image drawn(std::string_view text, const Font& font) {
    Image canvas = filled(40 + text_width(text, font), 2 * line_height(font), kPaper);
    draw_text(canvas, 20, 0, text, kInk, font);
    return canvas;
}

// In units of the font, by its tables hmtx and kern: H 1540, A 1401, V 1401, A and V together -131.
TEST(Text, WidthsAreThoseOfTheTypeface) {
    EXPECT_EQ(text_width("", {12}), 0);
    EXPECT_EQ(text_width("H", {2048}), 1540);
    EXPECT_EQ(text_width("HH", {2048}), 2 * 1540);
    EXPECT_EQ(text_width("HH", {16}), (2 * 1540 * 16 + 2047) / 2048);
    EXPECT_EQ(text_width("AV", {2048}), 1401 + 1401 - 131);
    EXPECT_GT(text_width("HH", {16, true}), text_width("HH", {16}));
    EXPECT_EQ(text_width("\u00e9", {2048}), text_width("e", {2048}));
}

TEST(Text, IsDrawnWhereItIsMeasured) {
    for (const Font font : {Font{11}, Font{14, true}, Font{28}, Font{60, true}})
        for (const char* text : {"HHH", "Wave of 1.5 %", "\u041a\u043e\u0442 \u03b1\u03b2"}) {
            const Extent extent = inked(drawn(text, font));
            EXPECT_NEAR(double(extent.left), 20, 1 + font.size / 8.0) << text << font.size;
            EXPECT_NEAR(double(extent.right), double(20 + text_width(text, font)),
                        2 + font.size / 8.0)
                << text << font.size;
            EXPECT_GE(extent.top, 0);
            EXPECT_LT(extent.bottom, line_height(font)) << text << font.size;
        }
}

TEST(Text, LettersHaveSmoothEdges) {
    const Image canvas = drawn("ocean", {14});
    EXPECT_TRUE(std::ranges::any_of(canvas.pixels, [](int p) { return p > 60 && p < 200; }));
    EXPECT_TRUE(std::ranges::any_of(canvas.pixels, [](int p) { return p < 40; }));
}

TEST(Text, IsClippedAtAllSides) {
    Image canvas = filled(7, 5, kPaper);
    draw_text(canvas, -3, -12, "HIH on all sides", kInk, {24});
    EXPECT_GE(inked(canvas).right, 0);
    Image empty = filled(7, 5, kPaper);
    draw_text(empty, 50, 0, "outside", kInk, {12});
    draw_text(empty, 0, 50, "outside", kInk, {12});
    draw_text(empty, -500, 0, "outside", kInk, {12});
    EXPECT_EQ(empty, filled(7, 5, kPaper));
}

TEST(Text, WhatTheTypefaceLacksIsABox) {
    const Image box = drawn("\U0010fffd", {20});
    EXPECT_GE(inked(box).right, 0);
    for (const char* text : {"\u732b", "\x01", "\x7f"}) EXPECT_EQ(drawn(text, {20}), box) << text;
    EXPECT_NE(drawn("a", {20}), box);
}

TEST(Text, BytesThatAreNotUtf8AreMarked) {
    const Image mark = drawn("\ufffd", {20});
    EXPECT_GE(inked(mark).right, 0);
    EXPECT_EQ(drawn("\xff", {20}), mark);
    EXPECT_EQ(drawn("\xe7\x8c", {20}), drawn("\ufffd\ufffd", {20}));  // two of three bytes
    for (const char* text : {"\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "a\xf0\x9f\x98"}) {
        EXPECT_GE(inked(drawn(text, {12})).right, 0);
        EXPECT_LE(text_width(fit_text(text, 9, {12}), {12}), 9);
    }
}

TEST(Text, LongTextKeepsItsEnds) {
    const Font font{12};
    EXPECT_EQ(fit_text("short.jpg", text_width("short.jpg", font), font), "short.jpg");
    EXPECT_EQ(fit_text("n01440764_10026.JPEG", text_width("n01440\u20266.JPEG", font), font),
              "n01440\u20266.JPEG");
    EXPECT_EQ(fit_text("longer", text_width("\u2026", font), font), "\u2026");
    EXPECT_EQ(fit_text("longer", 0, font), "");
    for (std::int64_t width = 0; width < 140; ++width) {
        const std::string fitted = fit_text("a lengthy t\u00e9xt.jpg", width, font);
        EXPECT_LE(text_width(fitted, font), width) << fitted;
    }
}

TEST(Text, WrapsAtSpaces) {
    const Font font{12};
    const std::int64_t width = text_width("English springer", font);
    using testing::ElementsAre;
    EXPECT_THAT(wrap_text("88.3 % English springer", width, font, 3),
                ElementsAre("88.3 % English", "springer"));
    EXPECT_THAT(wrap_text("English springer", width, font, 3), ElementsAre("English springer"));
    EXPECT_THAT(wrap_text("", width, font, 3), ElementsAre());
    const std::vector<std::string> cut =
        wrap_text("one two three four five six seven eight nine ten eleven", width, font, 2);
    ASSERT_EQ(cut.size(), 2U);
    EXPECT_THAT(cut[1], testing::HasSubstr("\u2026"));
    EXPECT_THAT(cut[1], testing::EndsWith("eleven"));
    for (const std::string& line : wrap_text("a b " + std::string(90, 'w') + " c", width, font, 9))
        EXPECT_LE(text_width(line, font), width) << line;
}

TEST(Text, IsTheSameInEveryThreadAndEveryTime) {
    const Image expected = drawn("The quick brown fox", {13});
    std::vector<std::thread> threads;
    std::vector<Image> found(4);
    for (std::size_t i = 0; i < found.size(); ++i)
        threads.emplace_back([&, i] {
            for (int size = 8; size < 24; ++size) drawn("other letters 0123", {size + int(i)});
            found[i] = drawn("The quick brown fox", {13});
        });
    for (std::thread& thread : threads) thread.join();
    for (const Image& image : found) EXPECT_EQ(image, expected);
}

// More letters than are kept: the store is emptied, the pictures stay right.
TEST(Text, ManyLettersDoNotFillTheMemory) {
    const Image expected = drawn("abc", {13});
    for (int size = 10; size < 90; ++size)
        drawn("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ", {size});
    EXPECT_EQ(drawn("abc", {13}), expected);
}

}  // namespace
}  // namespace cait
