// Measurements that were repeated, a row each: the mean, one deviation around it, and all from the
// least to the most.
#pragma once

#include <string>
#include <vector>

#include "report/chart_frame.h"
#include "report/figure.h"
#include "report/spread.h"

namespace cait {

struct IntervalRow {
    std::string name;
    int colour = 1;  // 1 to kLineColours
    Spread spread;
};

struct IntervalChart {
    std::string title, x_label;
    ChartUnit unit = ChartUnit::number;
    std::vector<IntervalRow> rows;
};

// Empty when there is no row.
Figure interval_figure(const IntervalChart& chart);

}  // namespace cait
