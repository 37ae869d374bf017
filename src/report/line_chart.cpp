#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart_style.h"

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

bool is_there(const std::pair<double, double>& point) {
    return std::isfinite(point.first) && std::isfinite(point.second);
}

// "s1" … "s4", then the same dashed.
std::string style_of(std::size_t series) {
    return fmt::format("s{}{}", series % kLineColours + 1,
                       series / kLineColours % 2 == 1 ? " dashed" : "");
}

std::string line(const ChartPlane& plane, const Points& points, const std::string& style,
                 bool mark_all) {
    std::string path, dots;
    bool drawing = false;
    for (const auto& [x, y] : points) {
        const bool there = is_there({x, y});
        if (there)
            path +=
                fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", plane.across(x), plane.down(y));
        drawing = there;
    }
    const auto dot = [&](const std::pair<double, double>& at) {
        dots += fmt::format("<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n",
                            style, plane.across(at.first), plane.down(at.second));
    };
    // The last point gets a dot: a line of one point is nothing to see.
    const auto last = std::ranges::find_if(points.rbegin(), points.rend(), is_there);
    if (mark_all)
        for (const auto& point : points) {
            if (is_there(point)) dot(point);
        }
    else if (last != points.rend())
        dot(*last);
    return fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", style, path) + dots;
}

std::vector<LegendKey> legend(const LineChart& chart) {
    std::vector<LegendKey> keys;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const ChartSeries& series = chart.series[i];
        const auto last =
            std::ranges::find_if(series.points.rbegin(), series.points.rend(),
                                 [](const auto& p) { return std::isfinite(p.second); });
        if (last != series.points.rend())
            keys.push_back({style_of(i), series.name, chart_number(last->second, chart.unit)});
    }
    return keys;
}

ChartAxis axis_across(const LineChart& chart, const ChartRange& x) {
    ChartAxis axis{{}, ChartUnit::number, chart.x_label};
    for (std::size_t i = 0; i < chart.x_names.size(); ++i) axis.ticks.push_back(double(i));
    axis.texts = chart.x_names;
    if (!axis.ticks.empty()) return axis;
    axis.ticks = x.high > x.low ? axis_ticks(x.low, x.high) : std::vector{x.low};
    std::erase_if(axis.ticks, [&](double tick) { return tick < x.low || tick > x.high; });
    return axis;
}

}  // namespace

Drawing line_drawing(const LineChart& chart) {
    constexpr double kMargin = 0.4;  // beside the first and the last name
    Drawing drawing{chart.title, {}, {}};
    ChartRange x, y;
    std::vector<Points> lines;
    for (const ChartSeries& series : chart.series) {
        lines.push_back(thinned(series.points));
        for (const auto& point : lines.back())
            if (is_there(point)) y.include(point.second);
        for (const auto& point : series.points)
            if (is_there(point)) x.include(point.first);
    }
    if (y.empty()) return drawing;
    if (chart.from_zero) y.include(0);
    if (!chart.x_names.empty()) x = {-kMargin, double(chart.x_names.size()) - 1 + kMargin};
    const std::vector<double> y_ticks = axis_ticks(y.low, y.high);
    const ChartPlane plane(x, {y_ticks.front(), y_ticks.back()});
    drawing.svg = axes_svg(plane, axis_across(chart, x), {y_ticks, chart.unit});
    for (std::size_t i = 0; i < lines.size(); ++i)
        drawing.svg += line(plane, lines[i], style_of(i), !chart.x_names.empty());
    drawing.legend = legend(chart);
    return drawing;
}

std::string line_chart_html(const LineChart& chart) { return drawing_html(line_drawing(chart)); }

}  // namespace cait
