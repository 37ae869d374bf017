#include "report/drawing.h"

#include <fmt/format.h>

#include "image/text/text.h"
#include "report/html.h"

namespace cait {

namespace {

// An element that has begun, to its end.
std::string with_title(const std::string& start, std::string_view tag, const std::string& title) {
    if (title.empty()) return start + "/>\n";
    return fmt::format("{}><title>{}</title></{}>\n", start, html_text(title), tag);
}

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
        return with_title(fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"",
                                      disc.style, disc.centre.x, disc.centre.y, disc.radius),
                          "circle", disc.title);
    }
    std::string operator()(const Drawing::Marks& marks) const {
        std::string places;  // lines of no length, of which the round or square ends are seen
        for (const DrawingPoint& point : marks.places)
            if (point.is_there()) places += fmt::format("M{:.1f} {:.1f}h0", point.x, point.y);
        return with_title(fmt::format("<path class=\"{}\" d=\"{}\"", marks.style, places), "path",
                          marks.title);
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

}  // namespace

Font font_of(std::string_view style) {
    if (style == "title") return {14, true};
    return {style == "on" || style == "off" ? 10 : 11};
}

double drawn_width(std::string_view text, std::string_view style) {
    return double(text_width(text, font_of(style)));
}

std::string fitted_text(std::string_view text, double width, std::string_view style) {
    return fit_text(text, std::int64_t(width), font_of(style));
}

void Drawing::add(const Drawing& other, double down) {
    for (Element element : other.elements_) {
        struct Mover {
            double down;
            void operator()(Path& path) const {
                for (DrawingPoint& point : path.points) point.y += down;
            }
            void operator()(Disc& disc) const { disc.centre.y += down; }
            void operator()(Marks& marks) const {
                for (DrawingPoint& point : marks.places) point.y += down;
            }
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
        "<style>\n{3}</style>\n"
        "<rect class=\"card\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{4}</svg>\n",
        drawing.width(), drawing.height(), html_text(title), drawing_rules(), drawing.svg());
}

}  // namespace cait
