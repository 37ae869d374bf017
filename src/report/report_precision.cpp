// The part of a report about detection: how precise boxes and masks are, by how many are found.
#include <fmt/format.h>

#include "evaluate/detection_scores.h"
#include "report/line_chart.h"
#include "report/report_parts.h"

namespace cait {

namespace {

void add_curve(LineChart& chart, const std::string& name, const std::vector<double>& curve) {
    if (curve.empty()) return;
    ChartSeries series{name, {}};
    for (std::size_t i = 0; i < curve.size(); ++i)
        series.points.emplace_back(double(i) / double(kRecallPoints - 1), curve[i]);
    chart.series.push_back(std::move(series));
}

// The shares of objects that are found, by their size and by how many answers are allowed.
std::string size_table(const DetectionScores& scores) {
    std::string rows;
    const auto add_row = [&](const char* name, const AveragePrecision& p) {
        rows += fmt::format("<tr><th scope=\"row\">{}</th>", name);
        for (const double value : {p.ap_small, p.ap_medium, p.ap_large, p.ar1, p.ar10, p.ar100,
                                   p.ar_small, p.ar_medium, p.ar_large})
            rows += value < 0 ? "<td class=\"n dim\">-</td>"
                              : fmt::format("<td class=\"n\">{:.1f} %</td>", 100 * value);
        rows += "</tr>\n";
    };
    add_row("boxes", scores.boxes());
    if (scores.has_masks()) add_row("masks", scores.masks());
    std::string head;
    for (const char* name : {"AP small", "medium", "large", "recall with 1", "10", "100 answers",
                             "recall small", "medium", "large"})
        head += fmt::format("<th class=\"n\">{}</th>", name);
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><thead><tr><th></th>{}</tr></thead>\n"
        "<tbody>\n{}</tbody></table></div>\n",
        head, rows);
}

}  // namespace

std::string report_precision(const ReportData& data) {
    const DetectionScores* scores = data.detection.get();
    if (scores == nullptr) return {};
    constexpr std::size_t kHalf = 0, kThreeQuarters = 5;  // places of 0.5 and 0.75
    LineChart chart{.title = "Precision by recall",
                    .x_label = "recall",
                    .unit = ChartUnit::percent,
                    .from_zero = true,
                    .y_label = "precision"};
    std::vector<double> means;  // of each curve: its average precision
    const auto add = [&](const char* kind, const AveragePrecision& p, bool of_masks) {
        add_curve(chart, fmt::format("{}, overlap 0.5", kind),
                  scores->precision_curve(of_masks, kHalf));
        add_curve(chart, fmt::format("{}, overlap 0.75", kind),
                  scores->precision_curve(of_masks, kThreeQuarters));
        means.insert(means.end(), {p.ap50, p.ap75});
    };
    add("boxes", scores->boxes(), false);
    if (scores->has_masks()) add("masks", scores->masks(), true);
    Figure drawn = line_figure(chart);
    for (std::size_t i = 0; i < drawn.keys.size(); ++i)
        drawn.keys[i].value = fmt::format("AP {:.1f} %", 100 * means.at(i));
    const std::string figure = figure_html(drawn);
    if (figure.empty()) return {};
    return section("Precision and recall",
                   "Mean over the annotated classes: the best precision at this recall or a higher "
                   "one. Small is below 32 x 32 pixels, large above 96 x 96.",
                   fmt::format("<div class=\"charts\">\n{}</div>\n", figure) + size_table(*scores));
}

}  // namespace cait
