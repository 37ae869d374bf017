// A chart with its title and legend: part of a page, an SVG file or a picture.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/drawing.h"

namespace cait {

struct FigureKey {
    std::string style;  // "s1" … "s5", "s1 dash", "c0" … "c9", "c0 square"; empty: no colour
    std::string name;
    std::string value = {};
};

struct Figure {
    std::string name = {};   // of its files: "residual-attention"
    std::string title = {};  // "Share of the attention branches"
    std::string label = {};  // of what the vertical axis shows; may be empty
    std::vector<FigureKey> keys = {};
    Drawing drawing{0, 0};

    bool empty() const { return drawing.elements().empty(); }
};

// A <figure> for a page with report_style(); nothing for an empty one.
std::string figure_html(const Figure& figure);

// Title, label, legend and chart as one drawing.
Drawing whole_drawing(const Figure& figure);

// folder/NAME.svg, which is light or dark as its reader is, and folder/NAME.png, which is light.
void write_figure(const std::filesystem::path& folder, const Figure& figure);

}  // namespace cait
