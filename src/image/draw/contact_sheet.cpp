#include "image/draw/contact_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cait/error.h"
#include "image/codec/decode.h"
#include "image/draw/draw.h"

namespace cait {

namespace {

constexpr std::int64_t kGap = 12;     // between the tiles and around them
constexpr std::int64_t kFrame = 3;    // thickness
constexpr std::int64_t kAbove = 5;    // between an image and its caption
constexpr std::int64_t kRoomy = 160;  // from this side on the letters are large
constexpr std::int64_t kMostSide = 4096;

std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::int64_t line_count(std::string_view text) {
    return text.empty() ? 0 : 1 + std::ranges::count(text, '\n');
}

struct Layout {
    std::int64_t columns, rows;
    std::int64_t title_height, tile_height;
    int scale;

    Layout(std::span<const SheetTile> tiles, const SheetStyle& style) {
        columns = std::min(style.columns, std::int64_t(tiles.size()));
        rows = (std::int64_t(tiles.size()) + columns - 1) / columns;
        scale = style.text_scale > 0 ? style.text_scale : style.side >= kRoomy ? 2 : 1;
        title_height = style.title.empty() ? 0 : line_height(scale) + kGap;
        std::int64_t lines = 0;
        for (const SheetTile& tile : tiles) lines = std::max(lines, line_count(tile.caption));
        tile_height = style.side + (lines > 0 ? kAbove + lines * line_height(scale) : 0);
    }

    std::int64_t width(std::int64_t side) const { return kGap + columns * (side + kGap); }
    std::int64_t height() const { return kGap + title_height + rows * (tile_height + kGap); }
};

void check(std::span<const SheetTile> tiles, const SheetStyle& style) {
    if (tiles.empty()) throw Error("contact sheet: expected at least one image, found none");
    if (style.columns < 1)
        throw UsageError(
            fmt::format("contact sheet: expected at least 1 column, found {}", style.columns));
    if (style.side < 1 || style.side > kMostSide)
        throw UsageError(fmt::format("contact sheet: expected tiles of 1 to {} pixels, found {}",
                                     kMostSide, style.side));
    if (style.text_scale < 0 || style.text_scale > 16)
        throw UsageError(fmt::format("contact sheet: expected a text scale of 0 to 16, found {}",
                                     style.text_scale));
}

void draw_tile(Image& sheet, const SheetTile& tile, const SheetStyle& style, int scale,
               std::int64_t left, std::int64_t top) {
    const Image image = fitted(tile.image, style.side);
    const std::int64_t x = left + (style.side - image.width) / 2;
    const std::int64_t y = top + (style.side - image.height) / 2;
    if (tile.frame)
        fill_rectangle(sheet, x - kFrame, y - kFrame, image.width + 2 * kFrame,
                       image.height + 2 * kFrame, *tile.frame);
    paste(sheet, image, x, y);

    std::string_view caption = tile.caption;
    for (std::int64_t line_top = top + style.side + kAbove; !caption.empty();
         line_top += line_height(scale)) {
        const std::string line = fit_text(take_line(caption), style.side, scale);
        draw_text(sheet, left + (style.side - text_width(line, scale)) / 2, line_top, line,
                  style.text, scale);
    }
}

}  // namespace

Image contact_sheet(std::span<const SheetTile> tiles, const SheetStyle& style) {
    check(tiles, style);
    const Layout layout(tiles, style);
    const std::int64_t width = layout.width(style.side);
    const std::int64_t height = layout.height();
    if (width * height > DecodeLimits{}.pixels)
        throw UsageError(
            fmt::format("contact sheet: {} images of {} pixels make {}x{}; expected "
                        "at most {} pixels in all",
                        tiles.size(), style.side, width, height, DecodeLimits{}.pixels));

    Image sheet = filled(width, height, style.background);
    draw_text(sheet, kGap, kGap, fit_text(style.title, width - 2 * kGap, layout.scale), style.text,
              layout.scale);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const std::int64_t column = std::int64_t(i) % layout.columns;
        const std::int64_t row = std::int64_t(i) / layout.columns;
        draw_tile(sheet, tiles[i], style, layout.scale, kGap + column * (style.side + kGap),
                  kGap + layout.title_height + row * (layout.tile_height + kGap));
    }
    return sheet;
}

}  // namespace cait
