// A line chart as SVG, with axes that fit the values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/chart_frame.h"
#include "report/figure.h"

namespace cait {

struct ChartSeries {
    std::string name;
    std::vector<std::pair<double, double>> points;  // (x, y) by rising x; NaN leaves a gap
};

struct LineChart {
    std::string title = {};
    std::string x_label = {};
    ChartUnit unit = ChartUnit::number;
    bool from_zero = false;                // the axis starts at 0 even where no value is near it
    std::vector<ChartSeries> series = {};  // 4 have colours of their own; the next 4 are dashed
    // Where x is no number but one of these, by its place from 0 on: every point is marked.
    std::vector<std::string> x_names = {};
    bool every_point = false;  // a dot for each, not for the last one only, and no value in the key
    std::string name = {}, y_label = {};  // of the figure
};

// Empty when there is no finite point.
Figure line_figure(const LineChart& chart);

// A <figure> with title, legend (each series with its last value) and drawing. Empty when there is
// no finite point.
std::string line_chart_html(const LineChart& chart);

}  // namespace cait
