#include "report/cloud_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/chart_style.h"
#include "report/html.h"

namespace cait {

namespace {

constexpr double kSide = 420, kMargin = 12;
constexpr std::size_t kStyles = 2 * kCloudColours;
constexpr std::size_t kNameWidth = 24;

std::string style_of(std::size_t group) {
    return fmt::format("c{}{}", group % kCloudColours,
                       group % kStyles >= kCloudColours ? " square" : "");
}

std::vector<LegendKey> legend_of(const CloudChart& chart, const std::vector<std::size_t>& shown) {
    std::vector<LegendKey> legend;
    for (const std::size_t group : shown) {
        if (legend.size() == kStyles) {
            legend.push_back({"", fmt::format("… and {} more", shown.size() - kStyles)});
            break;
        }
        legend.push_back({style_of(group), cut_text(chart.names[group], kNameWidth)});
    }
    return legend;
}

}  // namespace

Drawing cloud_chart(const CloudChart& chart) {
    Drawing drawing{chart.title, {}, {}, kSide, kSide};
    if (chart.points.empty()) return drawing;
    ChartRange range[2];
    for (const auto& point : chart.points)
        for (std::size_t axis = 0; axis < 2; ++axis) range[axis].include(point[axis]);
    // One scale for both axes: distances are what the map is about.
    const double most =
        std::max({range[0].high - range[0].low, range[1].high - range[1].low, 1e-12});
    const auto place = [&](double value, const ChartRange& along) {
        return kSide / 2 + (value - (along.low + along.high) / 2) / most * (kSide - 2 * kMargin);
    };
    std::vector<std::string> paths(chart.names.size());
    for (std::size_t i = 0; i < chart.points.size(); ++i)
        paths[std::size_t(chart.groups[i])] +=
            fmt::format("M{:.1f} {:.1f}h0", place(chart.points[i][0], range[0]),
                        kSide - place(chart.points[i][1], range[1]));
    std::vector<std::size_t> shown;
    for (std::size_t group = 0; group < paths.size(); ++group) {
        if (paths[group].empty()) continue;
        shown.push_back(group);
        drawing.svg += fmt::format("<path class=\"cloud {}\" d=\"{}\"><title>{}</title></path>\n",
                                   style_of(group), paths[group], html_text(chart.names[group]));
    }
    drawing.legend = legend_of(chart, shown);
    return drawing;
}

}  // namespace cait
