#include "image/draw/legend.h"

#include <algorithm>
#include <vector>

#include "image/draw/draw.h"
#include "image/text/text.h"

namespace cait {

namespace {

constexpr std::int64_t kLegendMargin = 8, kSquare = 12, kEntryGap = 16, kLeastLegendWidth = 320;
constexpr Colour kLegendPaper{255, 255, 255}, kLegendInk{32, 32, 32};

struct PlacedEntry {
    std::int64_t left = 0, line = 0;
    std::string text;
};

// From left to right, and on the next line where one is full.
std::vector<PlacedEntry> placed(std::span<const LegendEntry> entries, std::int64_t width,
                                const Font& font) {
    std::vector<PlacedEntry> places;
    std::int64_t left = kLegendMargin, line = 0;
    for (const LegendEntry& entry : entries) {
        const std::int64_t room = width - 2 * kLegendMargin - kSquare - kLegendMargin / 2;
        std::string text = fit_text(entry.text, room, font);
        const std::int64_t wide = kSquare + kLegendMargin / 2 + text_width(text, font);
        if (left > kLegendMargin && left + wide > width - kLegendMargin) {
            left = kLegendMargin;
            ++line;
        }
        places.push_back({left, line, std::move(text)});
        left += wide + kEntryGap;
    }
    return places;
}

}  // namespace

Image with_legend(const Image& picture, std::span<const LegendEntry> entries) {
    if (entries.empty()) return picture;
    const Font font{.size = 13};
    const std::int64_t width = std::max(picture.width, kLeastLegendWidth);
    const std::vector<PlacedEntry> places = placed(entries, width, font);
    const std::int64_t line = std::max(line_height(font), kSquare) + kLegendMargin / 2;
    const std::int64_t lines = places.back().line + 1;
    Image canvas = filled(width, picture.height + 2 * kLegendMargin + lines * line, kLegendPaper);
    paste(canvas, picture, 0, 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::int64_t top = picture.height + kLegendMargin + places[i].line * line;
        fill_rectangle(canvas, places[i].left, top + (line_height(font) - kSquare) / 2, kSquare,
                       kSquare, entries[i].colour);
        draw_text(canvas, places[i].left + kSquare + kLegendMargin / 2, top, places[i].text,
                  kLegendInk, font);
    }
    return canvas;
}

}  // namespace cait
