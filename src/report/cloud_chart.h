// Many points in a plane without axes, coloured by what they belong to: a map of what a network
// sees.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "report/figure.h"

namespace cait {

struct CloudChart {
    std::string title;
    std::vector<std::array<double, 2>> points;
    std::vector<std::int64_t> groups;  // (points), into names
    std::vector<std::string> names;
};

// Ten colours as dots, then as squares; beyond twenty groups they repeat, and the legend ends. A
// group's name shows under the pointer.
Figure cloud_figure(const CloudChart& chart);

}  // namespace cait
