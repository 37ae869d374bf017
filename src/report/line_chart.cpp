#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"

namespace cait {

namespace {

// One unit is about a pixel on a phone and a little more on a desk.
constexpr double kWidth = 420, kHeight = 220;
constexpr double kLeft = 46, kRight = 10, kTop = 10, kBottom = 34;
constexpr std::size_t kMostPoints = 400;  // more than there are pixels says nothing more
constexpr std::size_t kColours = 4;

struct Range {
    double low = INFINITY;
    double high = -INFINITY;
    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool empty() const { return !(low <= high); }
};

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

class Plane {
public:
    Plane(Range x, Range y) : x_(x), y_(y) {}
    double across(double x) const { return kLeft + place(x, x_) * (kWidth - kLeft - kRight); }
    double down(double y) const {
        return kHeight - kBottom - place(y, y_) * (kHeight - kTop - kBottom);
    }

private:
    static double place(double value, const Range& range) {
        return range.high > range.low ? (value - range.low) / (range.high - range.low) : 0.5;
    }
    Range x_, y_;
};

std::string axes(const Plane& plane, const std::vector<double>& x_ticks,
                 const std::vector<double>& y_ticks, const LineChart& chart) {
    std::string svg;
    for (const double tick : y_ticks)
        svg += fmt::format(
            "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>"
            "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
            kLeft, plane.down(tick), kWidth - kRight, kLeft - 6, plane.down(tick) + 3.5,
            chart_number(tick, chart.unit));
    for (const double tick : x_ticks)
        svg += fmt::format(
            "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            plane.across(tick), kHeight - kBottom + 15, chart_number(tick, ChartUnit::number));
    svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                       kWidth - kRight, kHeight - 4, html_text(chart.x_label));
    return svg;
}

std::string line(const Plane& plane, const Points& points, std::size_t colour) {
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
    std::string html = "<p class=\"legend\">";
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const ChartSeries& series = chart.series[i];
        const auto last =
            std::ranges::find_if(series.points.rbegin(), series.points.rend(),
                                 [](const auto& p) { return std::isfinite(p.second); });
        if (last == series.points.rend()) continue;
        html += fmt::format("<span><i class=\"key s{}\"></i>{} <b>{}</b></span> ", i % kColours + 1,
                            html_text(series.name), chart_number(last->second, chart.unit));
    }
    return html + "</p>\n";
}

}  // namespace

std::string chart_number(double value, ChartUnit unit) {
    if (unit == ChartUnit::percent) return fmt::format("{:.3g} %", 100 * value);
    constexpr double kLargestWhole = 1e7;  // steps and the like are not written as 2e+04
    const bool whole = value == std::floor(value) && std::fabs(value) < kLargestWhole;
    return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::vector<double> axis_ticks(double low, double high) {
    if (!(high > low)) {
        const double margin = low == 0 ? 1 : std::fabs(low) * 0.1;
        low -= margin;
        high += margin;
    }
    const double rough = (high - low) / 4;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0})
        if (factor * power >= rough * 0.7) step = factor * power;
    std::vector<double> ticks;
    const auto first = std::int64_t(std::floor(low / step + 1e-9));
    const auto last = std::int64_t(std::ceil(high / step - 1e-9));
    for (std::int64_t i = first; i <= last; ++i) ticks.push_back(double(i) * step);
    return ticks;
}

std::string line_chart_html(const LineChart& chart) {
    Range x, y;
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

    const Plane plane(x, y);
    std::string svg = axes(plane, x_ticks, y_ticks, chart);
    for (std::size_t i = 0; i < lines.size(); ++i) svg += line(plane, lines[i], i % kColours + 1);
    return fmt::format(
        "<figure class=\"chart\"><figcaption>{0}</figcaption>\n{1}"
        "<svg viewBox=\"0 0 {2} {3}\" role=\"img\" aria-label=\"{0}\">\n{4}</svg></figure>\n",
        html_text(chart.title), legend(chart), kWidth, kHeight, svg);
}

}  // namespace cait
