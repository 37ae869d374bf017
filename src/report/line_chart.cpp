#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cait {

namespace {

constexpr std::size_t kMostPoints = 400;  // more than there are pixels says nothing more
constexpr std::size_t kColours = 4;

using Points = std::vector<std::pair<double, double>>;

// Neighbours averaged until there are few enough; noise is averaged with them.
Points thinned(const Points& points) {
    if (points.size() <= kMostPoints) return points;
    Points result;
    for (std::size_t i = 0; i < kMostPoints; ++i) {
        const std::size_t begin = i * points.size() / kMostPoints;
        const std::size_t end = (i + 1) * points.size() / kMostPoints;
        double x = 0;
        double y = 0;
        for (std::size_t k = begin; k < end; ++k) {
            x += points[k].first;
            y += points[k].second;
        }
        result.emplace_back(x / double(end - begin), y / double(end - begin));
    }
    return result;
}

std::string line(const ChartPlane& plane, const Points& points, std::size_t colour) {
    std::string path;
    bool drawing = false;
    for (const auto& [x, y] : points) {
        const bool there = std::isfinite(x) && std::isfinite(y);
        if (there)
            path +=
                fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", plane.across(x), plane.down(y));
        drawing = there;
    }
    // The last point gets a dot: a line of one point is nothing to see.
    std::string svg = fmt::format("<path class=\"line s{}\" d=\"{}\"/>\n", colour, path);
    const auto last = std::ranges::find_if(points.rbegin(), points.rend(), [](const auto& p) {
        return std::isfinite(p.first) && std::isfinite(p.second);
    });
    if (last != points.rend())
        svg += fmt::format("<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n",
                           colour, plane.across(last->first), plane.down(last->second));
    return svg;
}

std::string legend(const LineChart& chart) {
    std::string html;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const ChartSeries& series = chart.series[i];
        const auto last =
            std::ranges::find_if(series.points.rbegin(), series.points.rend(),
                                 [](const auto& p) { return std::isfinite(p.second); });
        if (last == series.points.rend()) continue;
        html += legend_entry(int(i % kColours + 1), series.name,
                             chart_number(last->second, chart.unit));
    }
    return html;
}

}  // namespace

std::string line_chart_html(const LineChart& chart) {
    ChartRange x, y;
    std::vector<Points> lines;
    for (const ChartSeries& series : chart.series) {
        lines.push_back(thinned(series.points));
        for (const auto& [px, py] : lines.back())
            if (std::isfinite(px) && std::isfinite(py)) y.include(py);
        for (const auto& [px, py] : series.points)
            if (std::isfinite(px) && std::isfinite(py)) x.include(px);
    }
    if (y.empty()) return {};
    if (chart.from_zero) y.include(0);
    const std::vector<double> y_ticks = axis_ticks(y.low, y.high);
    y = {y_ticks.front(), y_ticks.back()};
    std::vector<double> x_ticks = x.high > x.low ? axis_ticks(x.low, x.high) : std::vector{x.low};
    std::erase_if(x_ticks, [&](double tick) { return tick < x.low || tick > x.high; });

    const ChartPlane plane(x, y);
    std::string svg = axes_svg(plane, {std::move(x_ticks), ChartUnit::number, chart.x_label},
                               {y_ticks, chart.unit});
    for (std::size_t i = 0; i < lines.size(); ++i) svg += line(plane, lines[i], i % kColours + 1);
    return chart_figure(chart.title, legend(chart), svg);
}

}  // namespace cait
