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

// "s1" to "s4", then the same dashed.
std::string series_style(std::size_t index) {
    return fmt::format("s{}{}", index % kColours + 1, index / kColours % 2 == 1 ? " dash" : "");
}

void draw_line(Drawing& drawing, const ChartPlane& plane, const Points& points, std::size_t index,
               bool every_point) {
    Drawing::Path path{"line " + series_style(index), {}};
    for (const auto& [x, y] : points) path.points.push_back({plane.across(x), plane.down(y)});
    drawing.add(path);
    // The last point gets a dot: a line of one point is nothing to see.
    std::vector<DrawingPoint> there;
    std::ranges::copy_if(path.points, std::back_inserter(there), &DrawingPoint::is_there);
    if (!every_point && !there.empty()) there.erase(there.begin(), there.end() - 1);
    for (const DrawingPoint& point : there)
        drawing.add(Drawing::Disc{fmt::format("dot s{}", index % kColours + 1), point,
                                  every_point ? 2.75 : 3.5, ""});
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

}  // namespace

Figure line_figure(const LineChart& chart) {
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
    // Layers and steps are whole: so are their ticks.
    const bool whole = std::ranges::all_of(chart.series, [](const ChartSeries& series) {
        return std::ranges::all_of(series.points,
                                   [](const auto& p) { return p.first == std::floor(p.first); });
    });
    std::erase_if(x_ticks, [&](double tick) {
        return tick < x.low || tick > x.high || (whole && tick != std::floor(tick));
    });

    const ChartPlane plane(x, y);
    Drawing drawing(ChartPlane::kWidth, ChartPlane::kHeight);
    draw_axes(drawing, plane, {std::move(x_ticks), ChartUnit::number, chart.x_label},
              {y_ticks, chart.unit});
    for (std::size_t i = 0; i < lines.size(); ++i)
        draw_line(drawing, plane, lines[i], i, chart.every_point);
    return {chart.name, chart.title, chart.y_label, keys_of(chart), std::move(drawing)};
}

std::string line_chart_html(const LineChart& chart) { return figure_html(line_figure(chart)); }

}  // namespace cait
