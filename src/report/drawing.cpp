#include "report/drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/chart_style.h"
#include "report/html.h"

namespace cait {

namespace {

constexpr double kTitleHeight = 28, kLegendLine = 18, kMargin = 10;
constexpr double kLetter = 6.3;  // of the style's font, about

std::size_t letters_of(std::string_view text) {
    return std::size_t(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// The legend in lines that fit; returns where it ends.
double add_legend(const Drawing& drawing, std::string& svg) {
    double x = kMargin, y = kTitleHeight + 8;
    for (const LegendKey& key : drawing.legend) {
        const std::string text = key.value.empty() ? key.name : key.name + " " + key.value;
        const double key_width = key.style.empty() ? 0 : 15;
        const double width = key_width + kLetter * double(letters_of(text)) + 12;
        if (x > kMargin && x + width > drawing.width) {
            x = kMargin;
            y += kLegendLine;
        }
        if (!key.style.empty())
            svg += fmt::format(
                "<rect class=\"fill {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" "
                "rx=\"{}\"/>",
                key.style, x, y - 9, key.style.find("square") == std::string::npos ? 3 : 0);
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + key_width, y,
                           html_text(text));
        x += width;
    }
    return drawing.legend.empty() ? kTitleHeight : y + 8;
}

}  // namespace

std::string drawing_html(const Drawing& drawing) {
    if (drawing.empty()) return {};
    std::string legend;
    for (const LegendKey& key : drawing.legend) {
        const std::string mark =
            key.style.empty() ? "" : fmt::format("<i class=\"key {}\"></i>", key.style);
        legend += fmt::format("<span>{}{}{}</span> ", mark, html_text(key.name),
                              key.value.empty() ? "" : " <b>" + html_text(key.value) + "</b>");
    }
    return chart_figure(drawing.title, legend, drawing.svg, drawing.width, drawing.height);
}

std::string drawing_file(const Drawing& drawing) {
    if (drawing.empty()) return {};
    std::string legend;
    const double top = add_legend(drawing, legend);
    const double height = top + drawing.height;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n{3}"
        "<rect class=\"card\" width=\"{0}\" height=\"{1}\"/>\n"
        "<text class=\"title\" x=\"{4}\" y=\"19\">{2}</text>\n{5}"
        "<g transform=\"translate(0 {6})\">\n{7}</g>\n</svg>\n",
        drawing.width, height, html_text(drawing.title), drawing_style(), kMargin, legend, top,
        drawing.svg);
}

}  // namespace cait
