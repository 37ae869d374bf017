#include "report/figure.h"

#include <algorithm>

#include "image/codec/encode.h"
#include "image/text/text.h"
#include "report/chart_frame.h"
#include "report/html.h"
#include "system/atomic_file.h"

namespace cait {

namespace {

constexpr double kFigureMargin = 12;
constexpr double kSquare = 10;

std::string key_text(const FigureKey& key) {
    return key.value.empty() ? key.name : key.name + " " + key.value;
}

// A line where lines differ by their dashes, a dot where marks differ by their shape.
void draw_key(Drawing& drawing, const std::string& style, double left, double top) {
    const double middle = top + 1 + kSquare / 2;
    if (style.empty()) return;
    if (style.ends_with(" dash"))
        drawing.add(
            Drawing::Path{"line " + style, {{left - 2, middle}, {left + kSquare + 2, middle}}});
    else if (style.starts_with("c") && !style.ends_with(" square"))
        drawing.add(Drawing::Disc{"key " + style, {left + kSquare / 2, middle}, kSquare / 2, ""});
    else
        drawing.add(Drawing::Rectangle{"key " + style, left, top + 1, kSquare, kSquare});
}

// Keys beside each other, in as many rows as they need. Returns where the last row ends.
double draw_keys(Drawing& drawing, const std::vector<FigureKey>& keys, double top) {
    constexpr double kRow = 16, kGap = 18;
    double left = kFigureMargin, base = top;
    for (const FigureKey& key : keys) {
        const double square = key.style.empty() ? 0 : kSquare + 6;
        const std::string text =
            fitted_text(key_text(key), drawing.width() - 2 * kFigureMargin - square, "strong");
        const double width = square + drawn_width(text, "strong");
        if (left > kFigureMargin && left + width > drawing.width() - kFigureMargin) {
            left = kFigureMargin;
            base += kRow;
        }
        draw_key(drawing, key.style, left, base);
        drawing.add(Drawing::Text{"strong", {left + square, base + 10}, text});
        left += width + kGap;
    }
    return keys.empty() ? top : base + kRow;
}

}  // namespace

std::string figure_html(const Figure& figure) {
    if (figure.empty()) return {};
    std::string legend =
        figure.label.empty() ? "" : "<span>" + html_text(figure.label) + "</span> ";
    for (const FigureKey& key : figure.keys) legend += legend_entry(key.style, key.name, key.value);
    return chart_figure(figure.title, legend, figure.drawing.svg(), figure.drawing.width(),
                        figure.drawing.height());
}

Drawing whole_drawing(const Figure& figure) {
    constexpr double kTitle = 34, kTitleLine = 18, kLabel = 16;
    constexpr std::size_t kMostLines = 3;
    const double room = figure.drawing.width() - 2 * kFigureMargin;
    Drawing head(figure.drawing.width(), 0);
    double height = kTitle - kTitleLine;
    for (const std::string& line :
         wrap_text(figure.title, std::int64_t(room), font_of("title"), kMostLines)) {
        head.add(Drawing::Text{"title", {kFigureMargin, height + 6}, line});
        height += kTitleLine;
    }
    if (!figure.label.empty()) {
        head.add(
            Drawing::Text{"tick", {kFigureMargin, height + 6}, fitted_text(figure.label, room)});
        height += kLabel;
    }
    height = draw_keys(head, figure.keys, height);
    Drawing whole(figure.drawing.width(), height + figure.drawing.height() + 6);
    whole.add(head, 0);
    whole.add(figure.drawing, height);
    return whole;
}

void write_figure(const std::filesystem::path& folder, const Figure& figure) {
    if (figure.empty()) return;
    const Drawing whole = whole_drawing(figure);
    AtomicFile svg(folder / (figure.name + ".svg"));
    svg.write(svg_file(whole, figure.title));
    svg.commit();
    write_image(folder / (figure.name + ".png"), rasterised(whole, kLightTheme));
}

}  // namespace cait
