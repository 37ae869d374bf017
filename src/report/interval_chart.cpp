#include "report/interval_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"

namespace cait {

namespace {

using P = ChartPlane;
constexpr double kRow = 26, kTop = 6, kBottom = 36, kNames = 130;
constexpr std::size_t kNameWidth = 20;

std::string row_svg(const IntervalRow& row, double y, const auto& across) {
    const Spread& spread = row.spread;
    const double deviation = spread.deviation.value_or(0);
    return fmt::format(
        "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n"
        "<path class=\"line whisker s{}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>"
        "<path class=\"line s{}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>"
        "<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>\n",
        kNames - 8, y + 3.5, html_text(cut_text(row.name, kNameWidth)), row.colour,
        across(spread.least), y, across(spread.most), row.colour, across(spread.mean - deviation),
        y, across(spread.mean + deviation), row.colour, across(spread.mean), y);
}

}  // namespace

Drawing interval_chart(const IntervalChart& chart) {
    Drawing drawing{chart.title, {}, {}};
    drawing.height = kTop + kRow * double(chart.rows.size()) + kBottom;
    if (chart.rows.empty()) return drawing;
    ChartRange range;
    for (const IntervalRow& row : chart.rows) {
        range.include(row.spread.least);
        range.include(row.spread.most);
        range.include(row.spread.mean - row.spread.deviation.value_or(0));
        range.include(row.spread.mean + row.spread.deviation.value_or(0));
    }
    const std::vector<double> ticks = axis_ticks(range.low, range.high);
    const std::vector<std::string> texts = tick_texts(ticks, chart.unit);
    const auto across = [&](double value) {
        return kNames + (value - ticks.front()) / (ticks.back() - ticks.front()) *
                            (P::kWidth - 2 * P::kRight - 8 - kNames);
    };
    const double end = drawing.height - kBottom;
    for (std::size_t i = 0; i < ticks.size(); ++i)
        drawing.svg += fmt::format(
            "<path class=\"grid\" d=\"M{0:.1f} {1}V{2:.1f}\"/><text class=\"tick\" x=\"{0:.1f}\" "
            "y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>\n",
            across(ticks[i]), kTop, end, end + 14, texts[i]);
    drawing.svg +=
        fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                    P::kWidth - P::kRight, drawing.height - 6, html_text(chart.x_label));
    for (std::size_t i = 0; i < chart.rows.size(); ++i)
        drawing.svg += row_svg(chart.rows[i], kTop + kRow * (double(i) + 0.5), across);
    return drawing;
}

}  // namespace cait
