// Points with names over two quantities, such as accuracy over cost, with a straight line through
// them where one is wanted.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/chart_frame.h"
#include "report/figure.h"

namespace cait {

// y = slope * x + offset by least squares.
struct LineFit {
    double slope = 0;
    double offset = 0;
    double r2 = 0;  // share of the variance of y that it explains
    double at(double x) const { return slope * x + offset; }
};
// None for fewer than two different x.
std::optional<LineFit> fit_line(const std::vector<std::pair<double, double>>& points);

struct NamedPoint {
    std::string name;
    double x = 0, y = 0;
    std::string group;  // points of one group have a colour; may be empty
};

struct PointChart {
    std::string name = {}, title = {}, x_label = {}, y_label = {};
    ChartUnit x_unit = ChartUnit::number, y_unit = ChartUnit::number;
    std::vector<NamedPoint> points = {};
    bool fit = false;  // a line through three points or more
};

// Empty when there is no point. Names are written beside the points.
Figure point_figure(const PointChart& chart);

}  // namespace cait
