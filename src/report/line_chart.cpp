#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cait {

namespace {

constexpr std::size_t kMostPoints = 400;  // more than there are pixels says nothing more

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

// "s1" to "s4", then the same dashed.
std::string series_style(std::size_t index) {
    return fmt::format("s{}{}", index % kLineColours + 1,
                       index / kLineColours % 2 == 1 ? " dash" : "");
}

bool is_there(const std::pair<double, double>& point) {
    return std::isfinite(point.first) && std::isfinite(point.second);
}

void draw_line(Drawing& drawing, const ChartPlane& plane, const Points& points, std::size_t index,
               const LineChart& chart) {
    Drawing::Path path{"line " + series_style(index), {}};
    for (const auto& [x, y] : points) path.points.push_back({plane.across(x), plane.down(y)});
    drawing.add(path);
    // The last point gets a dot: a line of one point is nothing to see.
    std::vector<DrawingPoint> there;
    std::ranges::copy_if(path.points, std::back_inserter(there), &DrawingPoint::is_there);
    if (!chart.every_point && chart.x_names.empty() && !there.empty())
        there.erase(there.begin(), there.end() - 1);
    for (const DrawingPoint& point : there)
        drawing.add(Drawing::Disc{fmt::format("dot s{}", index % kLineColours + 1), point,
                                  chart.every_point ? 2.75 : 3.5, ""});
}

std::vector<FigureKey> keys_of(const LineChart& chart) {
    std::vector<FigureKey> keys;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const ChartSeries& series = chart.series[i];
        const auto last =
            std::ranges::find_if(series.points.rbegin(), series.points.rend(),
                                 [](const auto& p) { return std::isfinite(p.second); });
        if (last == series.points.rend()) continue;
        keys.push_back({series_style(i), series.name,
                        chart.every_point ? "" : chart_number(last->second, chart.unit)});
    }
    return keys;
}

ChartAxis axis_across(const LineChart& chart, const ChartRange& x) {
    ChartAxis axis{{}, ChartUnit::number, chart.x_label, chart.x_names};
    for (std::size_t i = 0; i < chart.x_names.size(); ++i) axis.ticks.push_back(double(i));
    if (!axis.ticks.empty()) return axis;
    axis.ticks = x.high > x.low ? axis_ticks(x.low, x.high) : std::vector{x.low};
    // Layers and steps are whole: so are their ticks.
    const bool whole = std::ranges::all_of(chart.series, [](const ChartSeries& series) {
        return std::ranges::all_of(series.points,
                                   [](const auto& p) { return p.first == std::floor(p.first); });
    });
    std::erase_if(axis.ticks, [&](double tick) {
        return tick < x.low || tick > x.high || (whole && tick != std::floor(tick));
    });
    return axis;
}

}  // namespace

Figure line_figure(const LineChart& chart) {
    constexpr double kMargin = 0.4;  // beside the first and the last name
    ChartRange x, y;
    std::vector<Points> lines;
    for (const ChartSeries& series : chart.series) {
        lines.push_back(thinned(series.points));
        for (const auto& point : lines.back())
            if (is_there(point)) y.include(point.second);
        for (const auto& point : series.points)
            if (is_there(point)) x.include(point.first);
    }
    if (y.empty()) return {};
    if (chart.from_zero) y.include(0);
    if (!chart.x_names.empty()) x = {-kMargin, double(chart.x_names.size()) - 1 + kMargin};
    const std::vector<double> y_ticks = axis_ticks(y.low, y.high);

    const ChartAxis up{y_ticks, chart.unit};
    const ChartPlane plane(x, {y_ticks.front(), y_ticks.back()}, left_for(up));
    Drawing drawing(ChartPlane::kWidth, ChartPlane::kHeight);
    draw_axes(drawing, plane, axis_across(chart, x), up);
    for (std::size_t i = 0; i < lines.size(); ++i) draw_line(drawing, plane, lines[i], i, chart);
    return {chart.name, chart.title, chart.y_label, keys_of(chart), std::move(drawing)};
}

std::string line_chart_html(const LineChart& chart) { return figure_html(line_figure(chart)); }

}  // namespace cait
