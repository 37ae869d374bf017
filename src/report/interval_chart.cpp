#include "report/interval_chart.h"

#include <fmt/format.h>

namespace cait {

namespace {

using P = ChartPlane;
using Anchor = Drawing::Anchor;
constexpr double kRow = 26, kIntervalTop = 6, kIntervalBottom = 36, kNames = 130;

void draw_row(Drawing& drawing, const IntervalRow& row, double y, const auto& across) {
    const Spread& spread = row.spread;
    const double deviation = spread.deviation.value_or(0);
    const std::string colour = fmt::format("s{}", row.colour);
    const auto line = [&](const char* style, double from, double to) {
        drawing.add(Drawing::Path{style + colour, {{across(from), y}, {across(to), y}}});
    };
    drawing.add(Drawing::Text{
        "tick", {kNames - 8, y + 3.5}, fitted_text(row.name, kNames - 8), Anchor::end});
    line("line whisker ", spread.least, spread.most);
    line("line ", spread.mean - deviation, spread.mean + deviation);
    drawing.add(Drawing::Disc{"dot " + colour, {across(spread.mean), y}, 4.5, ""});
}

}  // namespace

Figure interval_figure(const IntervalChart& chart) {
    if (chart.rows.empty()) return {.title = chart.title};
    Drawing drawing(P::kWidth, kIntervalTop + kRow * double(chart.rows.size()) + kIntervalBottom);
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
    const double end = drawing.height() - kIntervalBottom;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
        const double x = across(ticks[i]);
        drawing.add(Drawing::Path{"grid", {{x, kIntervalTop}, {x, end}}});
        drawing.add(Drawing::Text{"tick", {x, end + 14}, texts[i], Anchor::middle});
    }
    drawing.add(Drawing::Text{
        "tick", {P::kWidth - P::kRight, drawing.height() - 6}, chart.x_label, Anchor::end});
    for (std::size_t i = 0; i < chart.rows.size(); ++i)
        draw_row(drawing, chart.rows[i], kIntervalTop + kRow * (double(i) + 0.5), across);
    return {{}, chart.title, {}, {}, std::move(drawing)};
}

}  // namespace cait
