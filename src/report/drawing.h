// What a chart consists of, before it becomes SVG or pixels: lines, discs, rectangles, texts and
// pictures, each with the style that the page's CSS and the rasteriser know it by.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "image/image.h"
#include "image/text/typeface.h"
#include "report/theme.h"

namespace cait {

struct DrawingPoint {
    double x = 0;
    double y = 0;
    bool is_there() const { return std::isfinite(x) && std::isfinite(y); }
};

class Drawing {
public:
    enum class Anchor { start, middle, end };

    struct Path {
        std::string style;
        std::vector<DrawingPoint> points;  // one that is not finite leaves a gap
    };
    struct Disc {
        std::string style;
        DrawingPoint centre;
        double radius = 0;
        std::string title;  // shown under the pointer; may be empty
    };
    struct Marks {  // many small dots of one kind, or squares
        std::string style;
        std::vector<DrawingPoint> places;
        std::string title;  // as of a disc
    };
    struct Rectangle {
        std::string style;
        double left = 0, top = 0, width = 0, height = 0;
    };
    struct Text {
        std::string style;
        DrawingPoint at;  // on the base line
        std::string text;
        Anchor anchor = Anchor::start;
    };
    struct Picture {  // its pixels stay squares, however large it is drawn
        Image image;
        double left = 0, top = 0, width = 0, height = 0;
    };
    using Element = std::variant<Path, Disc, Marks, Rectangle, Text, Picture>;

    Drawing(double width, double height) : width_(width), height_(height) {}
    double width() const { return width_; }
    double height() const { return height_; }

    void add(Element element) { elements_.push_back(std::move(element)); }
    // Another drawing, moved down.
    void add(const Drawing& other, double down);

    const std::vector<Element>& elements() const { return elements_; }

    std::string svg() const;  // the elements, without <svg> around them

private:
    double width_, height_;
    std::vector<Element> elements_;
};

// Styles: "grid" and "diagonal" (dashed) for lines that help, "line sN" with N from 1 to 5 and
// "line sN dash" for those of values, "line whisker sN" for thin ones, "dot sN", "cloud cN" and
// "cloud cN square" with N from 0 to 9 for marks, "key sN" and "key cN" for what a legend begins
// with, "tick" for small texts, "title" and "strong" for others, "card" for the ground.

// Of a text, in units of the drawing, as the rules of the page's CSS have it. A page is shown in a
// typeface of the reader's; few of them are wider than ours.
Font font_of(std::string_view style);
double drawn_width(std::string_view text, std::string_view style = "tick");
// Shortened in the middle where that is wider than `width`.
std::string fitted_text(std::string_view text, double width, std::string_view style = "tick");

// A file of its own, in the reader's light or dark.
std::string svg_file(const Drawing& drawing, const std::string& title);

// `scale` pixels a unit.
Image rasterised(const Drawing& drawing, const Theme& theme, int scale = 2);

}  // namespace cait
