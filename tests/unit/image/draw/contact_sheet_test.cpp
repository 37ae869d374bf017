// The grid of a contact sheet: where the images are, and what it refuses.
#include "image/draw/contact_sheet.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "image/draw/draw.h"
#include "image/text/text.h"

namespace cait {
namespace {

constexpr std::int64_t kGap = 12;
constexpr Colour kContactSheetRed{208, 64, 48};

Colour colour_at(const Image& image, std::int64_t x, std::int64_t y) {
    const std::uint8_t* pixel = image.row(y) + 3 * x;
    return {pixel[0], pixel[1], pixel[2]};
}

std::vector<SheetTile> tiles(int count, const std::string& caption = "") {
    std::vector<SheetTile> result;
    for (int i = 0; i < count; ++i)
        result.push_back({filled(20, 20, {std::uint8_t(10 * i), 100, 200}), caption});
    return result;
}

TEST(ContactSheet, ImagesGoFromLeftToRightAndDown) {
    SheetStyle style;
    style.columns = 3;
    style.side = 20;
    const Image sheet = contact_sheet(tiles(5), style);
    EXPECT_EQ(sheet.width, 4 * kGap + 3 * 20);
    EXPECT_EQ(sheet.height, 3 * kGap + 2 * 20);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(colour_at(sheet, kGap + i % 3 * (20 + kGap), kGap + i / 3 * (20 + kGap)),
                  (Colour{std::uint8_t(10 * i), 100, 200}));
    EXPECT_EQ(colour_at(sheet, sheet.width - kGap - 1, sheet.height - kGap - 1), style.background);
}

TEST(ContactSheet, FewImagesMakeANarrowSheet) {
    SheetStyle style;
    style.side = 20;
    EXPECT_EQ(contact_sheet(tiles(2), style).width, 3 * kGap + 2 * 20);
}

TEST(ContactSheet, CaptionsAndTitleMakeItHigher) {
    SheetStyle style;
    style.side = 160;
    const auto height = [&](const std::string& caption) {
        return contact_sheet(tiles(1, caption), style).height;
    };
    const std::int64_t bare = height("");
    EXPECT_GT(height("a"), bare);
    const std::int64_t line = line_height({11});
    EXPECT_EQ(height("a\nb") - height("a"), line);
    EXPECT_EQ(height("a name that needs two of the lines") - height("a"), line);
    EXPECT_EQ(height("one_word_that_is_too_long_for_the_width.jpeg"), height("a"));
    EXPECT_EQ(height(std::string(500, 'x') + " " + std::string(500, 'y')) - height("a"), line);
    style.title = "title";
    EXPECT_GT(contact_sheet(tiles(1), style).height, bare);
}

TEST(ContactSheet, AllKindsOfImagesFit) {
    SheetStyle style;
    style.side = 30;
    const std::vector<SheetTile> mixed{{Image::blank(1, 1, 1), "grey", kContactSheetRed},
                                       {Image::blank(500, 3, 3), "wide", kContactSheetRed},
                                       {Image::blank(2, 700, 3), "\n\n"}};
    const Image sheet = contact_sheet(mixed, style);
    EXPECT_EQ(colour_at(sheet, kGap + 15, kGap + 15), (Colour{0, 0, 0}));
    // The frame lies in the gap.
    EXPECT_EQ(colour_at(sheet, kGap - 1, kGap + 15), kContactSheetRed);
}

// Letters stay below their own image, however long the caption, and are the same each time.
TEST(ContactSheet, LongCaptionsStayInTheirCells) {
    SheetStyle style;
    style.side = 100;
    std::vector<SheetTile> shown = tiles(3);
    shown[1].caption =
        "n01440764_10026_a_very_long_name_of_a_file.JPEG\n88.3 % English springer, "
        "English springer spaniel of a kennel in the north\n\xff\xfe\xc3(\xe7\x8c";
    const Image sheet = contact_sheet(shown, style);
    std::int64_t inside = 0;
    for (std::int64_t y = kGap + style.side; y < sheet.height; ++y)
        for (std::int64_t x = 0; x < sheet.width; ++x) {
            if (colour_at(sheet, x, y) == style.background) continue;
            ++inside;
            EXPECT_GE(x, 2 * kGap + style.side - 1) << y;
            EXPECT_LE(x, 2 * kGap + 2 * style.side) << y;
            EXPECT_LT(y, sheet.height - kGap) << x;
        }
    EXPECT_GT(inside, 500);
    EXPECT_EQ(sheet, contact_sheet(shown, style));
}

TEST(ContactSheet, RefusesWhatCannotBeDrawn) {
    EXPECT_THROW(contact_sheet({}), Error);
    SheetStyle style;
    style.columns = 0;
    EXPECT_THROW(contact_sheet(tiles(1), style), UsageError);
    style = {};
    style.side = 0;
    EXPECT_THROW(contact_sheet(tiles(1), style), UsageError);
    style.side = 4096;
    EXPECT_THROW(contact_sheet(tiles(40), style), UsageError);
}

}  // namespace
}  // namespace cait
