// A line chart as SVG, with axes that fit the values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/drawing.h"

namespace cait {

struct ChartSeries {
    std::string name;
    std::vector<std::pair<double, double>> points;  // (x, y) by rising x; NaN leaves a gap
};

struct LineChart {
    std::string title;
    std::string x_label;
    ChartUnit unit = ChartUnit::number;
    bool from_zero = false;           // the axis starts at 0 even where no value is near it
    std::vector<ChartSeries> series;  // up to 4 have colours of their own, then dashes
    // Where x is no number but one of these, by its place from 0 on: every point is marked.
    std::vector<std::string> x_names = {};
};

// With a legend of each series' last value. Empty when there is no finite point.
Drawing line_drawing(const LineChart& chart);

// The same as a <figure>.
std::string line_chart_html(const LineChart& chart);

}  // namespace cait
