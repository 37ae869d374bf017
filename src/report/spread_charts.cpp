#include "report/spread_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "report/html.h"

namespace cait {

namespace {

using P = ChartPlane;

// Round numbers around the values, and the range that they span.
ChartAxis axis_around(const ChartRange& range, ChartUnit unit, std::string_view label = {}) {
    return {axis_ticks(range.low, range.high), unit, label};
}
ChartRange span_of(const ChartAxis& axis) { return {axis.ticks.front(), axis.ticks.back()}; }

std::string fine_number(double value, ChartUnit unit) {
    return unit == ChartUnit::percent ? fmt::format("{:.2f} %", 100 * value)
                                      : fmt::format("{:.4g}", value);
}

std::string spread_legend(const Spread& spread, ChartUnit unit) {
    std::string html = legend_entry("", "mean", fine_number(spread.mean, unit));
    if (spread.deviation) html += legend_entry("", "±", fine_number(*spread.deviation, unit));
    return html + legend_entry("", "from", fine_number(spread.least, unit)) +
           legend_entry("", "to", fine_number(spread.most, unit));
}

// Between two lines over the same x.
std::string area(const P& plane, const std::vector<std::pair<double, Spread>>& points,
                 const char* style, double (*low)(const Spread&), double (*high)(const Spread&)) {
    std::string path;
    for (const auto& [x, spread] : points)
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", plane.across(x),
                            plane.down(high(spread)));
    for (auto point = points.rbegin(); point != points.rend(); ++point)
        path += fmt::format("L{:.1f} {:.1f}", plane.across(point->first),
                            plane.down(low(point->second)));
    return fmt::format("<path class=\"{}\" d=\"{}Z\"/>\n", style, path);
}

double below(const Spread& spread) { return spread.mean - spread.deviation.value_or(0); }
double above(const Spread& spread) { return spread.mean + spread.deviation.value_or(0); }
double least(const Spread& spread) { return spread.least; }
double most(const Spread& spread) { return spread.most; }

// The normal distribution, in values per bin.
double bell(const Spread& spread, double x, double bin) {
    const double z = (x - spread.mean) / *spread.deviation;
    return double(spread.count) * bin / (*spread.deviation * std::sqrt(2 * std::numbers::pi)) *
           std::exp(-z * z / 2);
}

}  // namespace

std::string histogram_html(const Histogram& chart) {
    if (chart.values.empty()) return {};
    constexpr double kMostBins = 20;
    constexpr int kCurvePoints = 120;
    const Spread spread = spread_of(chart.values);
    const bool fits = spread.deviation && *spread.deviation > 0;
    ChartRange x{spread.least, spread.most};
    if (fits) {  // room for the tails
        x.include(spread.mean - 2 * *spread.deviation);
        x.include(spread.mean + 2 * *spread.deviation);
    }
    const ChartAxis across = axis_around(x, chart.unit, chart.x_label);
    x = span_of(across);
    // Whole bins between neighbouring ticks, about twice the root of the number of values in all.
    const double steps = double(across.ticks.size() - 1);
    const double wished = std::clamp(2 * std::sqrt(double(spread.count)), 4.0, kMostBins);
    const double each = std::max(1.0, std::round(wished / steps));
    const auto bins = std::size_t(steps * each);
    const double bin = (x.high - x.low) / double(bins);
    constexpr double kSlack = 1e-9;  // a value on an edge belongs to the bin above, rounded or not
    std::vector<std::size_t> counts(bins, 0);
    for (const double value : chart.values)
        ++counts[std::min(bins - 1, std::size_t((value - x.low) / bin + kSlack))];

    double tallest = double(*std::ranges::max_element(counts));
    if (fits) tallest = std::max(tallest, bell(spread, spread.mean, bin));
    ChartAxis up = axis_around({0, tallest}, ChartUnit::number);
    std::erase_if(up.ticks, [](double tick) { return tick != std::floor(tick); });
    const P plane(x, {0, std::max(tallest, up.ticks.back())}, left_for(up));
    std::string svg = axes_svg(plane, across, up);
    for (std::size_t i = 0; i < bins; ++i) {
        if (counts[i] == 0) continue;
        const double left = plane.across(x.low + double(i) * bin),
                     right = plane.across(x.low + double(i + 1) * bin),
                     top = plane.down(double(counts[i]));
        svg += fmt::format(
            "<rect class=\"s1\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
            left + 0.5, top, right - left - 1, plane.down(0) - top);
    }
    if (fits) {
        std::string path;
        for (int i = 0; i <= kCurvePoints; ++i) {
            const double at = x.low + (x.high - x.low) * i / kCurvePoints;
            path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", plane.across(at),
                                plane.down(bell(spread, at, bin)));
        }
        svg += fmt::format("<path class=\"line s2\" d=\"{}\"/>\n", path);
    }
    return chart_figure(chart.title, spread_legend(spread, chart.unit), svg);
}

std::string band_chart_html(const BandChart& chart) {
    if (chart.points.empty()) return {};
    ChartRange x, y;
    for (const auto& [at, spread] : chart.points) {
        x.include(at);
        y.include(std::min(spread.least, below(spread)));
        y.include(std::max(spread.most, above(spread)));
    }
    const ChartAxis up = axis_around(y, chart.unit);
    ChartAxis across = axis_around(x, ChartUnit::number, chart.x_label);
    std::erase_if(across.ticks, [&](double tick) { return tick < x.low || tick > x.high; });
    const P plane(x, span_of(up), left_for(up));
    std::string svg = axes_svg(plane, across, up);
    svg += area(plane, chart.points, "band", least, most);
    svg += area(plane, chart.points, "band in", below, above);
    std::string path;
    for (const auto& [at, spread] : chart.points)
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", plane.across(at),
                            plane.down(spread.mean));
    svg += fmt::format("<path class=\"line s1\" d=\"{}\"/>\n", path);
    const auto& [last, spread] = chart.points.back();
    const std::string at = legend_entry("", chart.x_label, chart_number(last, ChartUnit::number));
    return chart_figure(chart.title, at + spread_legend(spread, chart.unit), svg);
}

std::string scatter_chart_html(const ScatterChart& chart) {
    if (chart.points.empty()) return {};
    ChartRange x, y;
    for (const auto& [px, py] : chart.points) {
        x.include(px);
        y.include(py);
    }
    const ChartAxis across = axis_around(x, chart.unit, chart.x_label),
                    up = axis_around(y, chart.unit);
    const P plane(span_of(across), span_of(up), left_for(up));
    std::string svg = axes_svg(plane, across, up);
    for (std::size_t i = 0; i < chart.points.size(); ++i)
        svg += fmt::format(
            "<circle class=\"dot s1\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}</title>"
            "</circle>\n",
            plane.across(chart.points[i].first), plane.down(chart.points[i].second),
            i < chart.names.size() ? html_text(chart.names[i]) : "");
    const auto r = correlation(chart.points);
    return chart_figure(chart.title,
                        r ? legend_entry("", "correlation", fmt::format("{:.2f}", *r)) : "", svg);
}

}  // namespace cait
