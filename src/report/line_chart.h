// A line chart as SVG, with axes that fit the values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/chart_frame.h"

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
    std::vector<ChartSeries> series;  // up to 4 have colours of their own
};

// A <figure> with title, legend (each series with its last value) and drawing. Empty when there is
// no finite point.
std::string line_chart_html(const LineChart& chart);

}  // namespace cait
