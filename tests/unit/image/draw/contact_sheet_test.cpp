// The grid of a contact sheet: where the images are, and what it refuses.
#include "image/draw/contact_sheet.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "image/draw/draw.h"

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
    style.side = 20;
    const std::int64_t bare = contact_sheet(tiles(1), style).height;
    const std::int64_t one = contact_sheet(tiles(1, "a"), style).height;
    const std::int64_t two = contact_sheet(tiles(1, "a\na name that is too long"), style).height;
    EXPECT_GT(one, bare);
    EXPECT_EQ(two - one, line_height(1));
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
    style = {};
    style.text_scale = -1;
    EXPECT_THROW(contact_sheet(tiles(1), style), UsageError);
}

}  // namespace
}  // namespace cait
