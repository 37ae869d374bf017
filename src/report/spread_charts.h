// Charts of measurements that were taken several times: how they are distributed, how they spread
// along a run, and how two of them go together (figures 6.7 to 6.10 of Touvron's thesis).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/chart_frame.h"
#include "report/spread.h"

namespace cait {

// Bars of how many values lie where, and the normal distribution of their mean and deviation.
struct Histogram {
    std::string title, x_label;
    ChartUnit unit = ChartUnit::number;
    std::vector<double> values;
};
std::string histogram_html(const Histogram& chart);

// The mean as a line, one deviation around it, and all from the least to the most.
struct BandChart {
    std::string title, x_label;
    ChartUnit unit = ChartUnit::number;
    std::vector<std::pair<double, Spread>> points;  // by rising x
};
std::string band_chart_html(const BandChart& chart);

// A cloud of points, with their correlation.
struct ScatterChart {
    std::string title, x_label;
    ChartUnit unit = ChartUnit::number;  // of both axes
    std::vector<std::pair<double, double>> points;
    std::vector<std::string> names;  // of the points, shown under the pointer; may be empty
};
std::string scatter_chart_html(const ScatterChart& chart);

// All three are empty where there is nothing to draw.

}  // namespace cait
