#include "image/draw/contact_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "cait/error.h"
#include "image/codec/decode.h"
#include "image/draw/draw.h"
#include "image/text/text.h"

namespace cait {

namespace {

constexpr std::int64_t kGap = 12;      // between the tiles and around them
constexpr std::int64_t kFrame = 3;     // thickness
constexpr std::int64_t kAbove = 5;     // between an image and its caption
constexpr std::size_t kMostLines = 3;  // of one line of a caption, and of the title
constexpr std::int64_t kMostSide = 4096;

// 25 to 50 letters fit under an image.
Font caption_font(std::int64_t side) {
    return {int(std::clamp<std::int64_t>(7 + side / 40, 11, 96))};
}

std::vector<std::string> caption_lines(std::string_view caption, std::int64_t side,
                                       const Font& font) {
    std::vector<std::string> lines;
    while (!caption.empty()) {
        const std::string_view line = caption.substr(0, caption.find('\n'));
        std::ranges::move(wrap_text(line, side, font, kMostLines), std::back_inserter(lines));
        caption.remove_prefix(std::min(line.size() + 1, caption.size()));
    }
    return lines;
}

struct Layout {
    std::int64_t columns, rows;
    std::int64_t width, title_height, tile_height;
    Font font, title_font;
    std::vector<std::string> title;
    std::vector<std::vector<std::string>> captions;

    Layout(std::span<const SheetTile> tiles, const SheetStyle& style)
        : columns(std::min(style.columns, std::int64_t(tiles.size()))),
          rows((std::int64_t(tiles.size()) + columns - 1) / columns),
          width(kGap + columns * (style.side + kGap)),
          font(caption_font(style.side)),
          title_font{font.size * 9 / 8, true},
          title(wrap_text(style.title, width - 2 * kGap, title_font, kMostLines)) {
        title_height =
            title.empty() ? 0 : std::int64_t(title.size()) * line_height(title_font) + kGap;
        std::size_t lines = 0;
        for (const SheetTile& tile : tiles) {
            captions.push_back(caption_lines(tile.caption, style.side, font));
            lines = std::max(lines, captions.back().size());
        }
        tile_height =
            style.side + (lines > 0 ? kAbove + std::int64_t(lines) * line_height(font) : 0);
    }

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
}

void draw_tile(Image& sheet, const SheetTile& tile, const std::vector<std::string>& caption,
               const SheetStyle& style, const Font& font, std::int64_t left, std::int64_t top) {
    const Image image = fitted(tile.image, style.side);
    const std::int64_t x = left + (style.side - image.width) / 2;
    const std::int64_t y = top + (style.side - image.height) / 2;
    if (tile.frame)
        fill_rectangle(sheet, x - kFrame, y - kFrame, image.width + 2 * kFrame,
                       image.height + 2 * kFrame, *tile.frame);
    paste(sheet, image, x, y);

    std::int64_t line_top = top + style.side + kAbove;
    for (const std::string& line : caption) {
        draw_text(sheet, left + (style.side - text_width(line, font)) / 2, line_top, line,
                  style.text, font);
        line_top += line_height(font);
    }
}

}  // namespace

Image contact_sheet(std::span<const SheetTile> tiles, const SheetStyle& style) {
    check(tiles, style);
    const Layout layout(tiles, style);
    const std::int64_t width = layout.width, height = layout.height();
    if (width * height > DecodeLimits{}.pixels)
        throw UsageError(
            fmt::format("contact sheet: {} images of {} pixels make {}x{}; expected "
                        "at most {} pixels in all",
                        tiles.size(), style.side, width, height, DecodeLimits{}.pixels));

    Image sheet = filled(width, height, style.background);
    for (std::size_t i = 0; i < layout.title.size(); ++i)
        draw_text(sheet, kGap, kGap + std::int64_t(i) * line_height(layout.title_font),
                  layout.title[i], style.text, layout.title_font);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const std::int64_t column = std::int64_t(i) % layout.columns;
        const std::int64_t row = std::int64_t(i) / layout.columns;
        draw_tile(sheet, tiles[i], layout.captions[i], style, layout.font,
                  kGap + column * (style.side + kGap),
                  kGap + layout.title_height + row * (layout.tile_height + kGap));
    }
    return sheet;
}

}  // namespace cait
