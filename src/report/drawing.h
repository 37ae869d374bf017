// A chart before it is known where it goes: as a <figure> into a page, or into an SVG file that
// needs nothing beside it.
#pragma once

#include <string>
#include <vector>

#include "report/chart_frame.h"

namespace cait {

struct LegendKey {
    std::string style;  // classes of its colour, "s1" or "c3 square"; empty: no colour
    std::string name;
    std::string value = {};
};

struct Drawing {
    std::string title;
    std::vector<LegendKey> legend;
    std::string svg;  // what is inside; empty: there is nothing to draw
    double width = ChartPlane::kWidth, height = ChartPlane::kHeight;

    bool empty() const { return svg.empty(); }
};

// Both are empty where the drawing is.
std::string drawing_html(const Drawing& drawing);
std::string drawing_file(const Drawing& drawing);  // the text of an .svg

}  // namespace cait
