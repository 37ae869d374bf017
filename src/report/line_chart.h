// A line chart as SVG, with axes that fit the values. It takes its colours from the page's style,
// so it follows light and dark.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cait {

struct ChartSeries {
    std::string name;
    std::vector<std::pair<double, double>> points;  // (x, y) by rising x; NaN leaves a gap
};

enum class ChartUnit { number, percent };  // percent: 0.5 is shown as 50 %

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

// 3 to 7 round numbers that cover low to high.
std::vector<double> axis_ticks(double low, double high);

// "0.031", "1.2e-06", "20000", "31.4 %".
std::string chart_number(double value, ChartUnit unit);

}  // namespace cait
