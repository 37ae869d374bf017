#include "report/cloud_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/chart_frame.h"
#include "report/html.h"

namespace cait {

namespace {

constexpr double kSide = 420, kCloudMargin = 12;
constexpr std::size_t kStyles = 2 * kCloudColours;
constexpr std::size_t kCloudNameWidth = 24;

std::string style_of(std::size_t group) {
    return fmt::format("c{}{}", group % kCloudColours,
                       group % kStyles >= kCloudColours ? " square" : "");
}

std::vector<FigureKey> keys_of(const CloudChart& chart, const std::vector<std::size_t>& shown) {
    std::vector<FigureKey> keys;
    for (const std::size_t group : shown) {
        if (keys.size() == kStyles) {
            keys.push_back({"", fmt::format("… and {} more", shown.size() - kStyles)});
            break;
        }
        keys.push_back({style_of(group), cut_text(chart.names[group], kCloudNameWidth)});
    }
    return keys;
}

}  // namespace

Figure cloud_figure(const CloudChart& chart) {
    if (chart.points.empty()) return {.title = chart.title};
    ChartRange range[2];
    for (const auto& point : chart.points)
        for (std::size_t axis = 0; axis < 2; ++axis) range[axis].include(point[axis]);
    // One scale for both axes: distances are what the map is about.
    const double most =
        std::max({range[0].high - range[0].low, range[1].high - range[1].low, 1e-12});
    const auto place = [&](double value, const ChartRange& along) {
        return kSide / 2 +
               (value - (along.low + along.high) / 2) / most * (kSide - 2 * kCloudMargin);
    };
    std::vector<std::vector<DrawingPoint>> groups(chart.names.size());
    for (std::size_t i = 0; i < chart.points.size(); ++i)
        groups[std::size_t(chart.groups[i])].push_back(
            {place(chart.points[i][0], range[0]), kSide - place(chart.points[i][1], range[1])});
    Drawing drawing(kSide, kSide);
    std::vector<std::size_t> shown;
    for (std::size_t group = 0; group < groups.size(); ++group) {
        if (groups[group].empty()) continue;
        shown.push_back(group);
        drawing.add(Drawing::Marks{"cloud " + style_of(group), groups[group], chart.names[group]});
    }
    return {{}, chart.title, {}, keys_of(chart, shown), std::move(drawing)};
}

}  // namespace cait
