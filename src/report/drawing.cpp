#include "report/drawing.h"

#include <fmt/format.h>

#include "report/html.h"

namespace cait {

namespace {

struct SvgWriter {
    std::string operator()(const Drawing::Path& path) const {
        std::string points;
        bool drawing = false;
        for (const DrawingPoint& point : path.points) {
            if (point.is_there())
                points += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", point.x, point.y);
            drawing = point.is_there();
        }
        return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", path.style, points);
    }
    std::string operator()(const Drawing::Disc& disc) const {
        const std::string start =
            fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"", disc.style,
                        disc.centre.x, disc.centre.y, disc.radius);
        if (disc.title.empty()) return start + "/>\n";
        return fmt::format("{}><title>{}</title></circle>\n", start, html_text(disc.title));
    }
    std::string operator()(const Drawing::Rectangle& box) const {
        return fmt::format(
            "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
            box.style, box.left, box.top, box.width, box.height);
    }
    std::string operator()(const Drawing::Text& text) const {
        constexpr const char* kAnchors[] = {"start", "middle", "end"};
        return fmt::format(
            "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
            text.style, text.at.x, text.at.y, kAnchors[int(text.anchor)], html_text(text.text));
    }
    std::string operator()(const Drawing::Picture& picture) const {
        return fmt::format(
            "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "preserveAspectRatio=\"none\" style=\"image-rendering: pixelated\" href=\"{}\"/>\n",
            picture.left, picture.top, picture.width, picture.height, png_uri(picture.image));
    }
};

// Plain colours instead of variables: not only browsers open such a file.
std::string theme_rules(const Theme& theme) {
    std::string css = fmt::format(
        ".card {{ fill: {}; }} .grid {{ stroke: {}; }} .tick {{ fill: {}; }} "
        ".title, .strong {{ fill: {}; }} .diagonal {{ stroke: {}; }} .dot {{ stroke: {}; }}\n",
        css_colour(theme.card), css_colour(theme.rule), css_colour(theme.dim),
        css_colour(theme.ink), css_colour(theme.dim), css_colour(theme.card));
    for (std::size_t i = 0; i < theme.series.size(); ++i)
        css += fmt::format(".line.s{0} {{ stroke: {1}; }} .dot.s{0}, .key.s{0} {{ fill: {1}; }}\n",
                           i + 1, css_colour(theme.series[i]));
    return css;
}

constexpr const char* kCommonRules = R"css(:root { color-scheme: light dark; }
text { font: 11px system-ui, sans-serif; }
.title { font-weight: 600; font-size: 14px; }
path { fill: none; }
.line { stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.dash { stroke-dasharray: 6 4; }
.diagonal { stroke-dasharray: 4 4; stroke-width: 1.5; }
.dot { stroke-width: 1.5; }
)css";

}  // namespace

void Drawing::add(const Drawing& other, double down) {
    for (Element element : other.elements_) {
        struct Mover {
            double down;
            void operator()(Path& path) const {
                for (DrawingPoint& point : path.points) point.y += down;
            }
            void operator()(Disc& disc) const { disc.centre.y += down; }
            void operator()(Rectangle& box) const { box.top += down; }
            void operator()(Text& text) const { text.at.y += down; }
            void operator()(Picture& picture) const { picture.top += down; }
        };
        std::visit(Mover{down}, element);
        elements_.push_back(std::move(element));
    }
}

std::string Drawing::svg() const {
    std::string text;
    for (const Element& element : elements_) text += std::visit(SvgWriter{}, element);
    return text;
}

std::string svg_file(const Drawing& drawing, const std::string& title) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n"
        "<style>\n{3}{4}@media (prefers-color-scheme: dark) {{\n{5}}}\n</style>\n"
        "<rect class=\"card\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{6}</svg>\n",
        drawing.width(), drawing.height(), html_text(title), kCommonRules, theme_rules(kLightTheme),
        theme_rules(kDarkTheme), drawing.svg());
}

}  // namespace cait
