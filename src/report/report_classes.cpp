// The part of a report about classes: how well each is recognised, and which are mixed up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/html.h"
#include "report/report_parts.h"

namespace cait {

namespace {

constexpr std::size_t kAllBars = 60;      // more classes than this are shown from both ends …
constexpr std::size_t kEndBars = 25;      // … this many each
constexpr std::size_t kMatrixSide = 30;   // more classes share cells
constexpr std::size_t kNumbersUpTo = 12;  // classes: then cells have room for numbers
constexpr std::size_t kPairs = 20;     // the most frequent confusions, beside a coarse matrix …
constexpr std::size_t kFewPairs = 12;  // … and beside one that shows every class

std::string bar_row(const ReportData& data, std::size_t label) {
    const ClassCount& count = data.evaluation->per_class()[label];
    return fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"bar\"><i style=\"width:{:.2f}%\"></i></td>"
        "<td>{:.1f} %</td><td class=\"dim\">{} / {}</td></tr>\n",
        class_label(data, std::int64_t(label)), 100 * count.accuracy(), 100 * count.accuracy(),
        count.correct, count.images);
}

// Images of one group of classes taken for another, as fractions of the row.
struct Cells {
    std::size_t side = 0;
    std::vector<double> fractions;  // (side, side)
};

Cells group_cells(const Metrics& metrics, std::size_t side) {
    Cells cells{side, std::vector<double>(side * side)};
    const auto group = [&](std::int64_t label) {
        return std::size_t(label) * side / metrics.classes();
    };
    for (std::size_t label = 0; label < metrics.classes(); ++label) {
        const std::size_t g = group(std::int64_t(label));
        cells.fractions[g * side + g] += double(metrics.per_class()[label].correct);
    }
    for (const Confusion& pair : metrics.confusions())
        cells.fractions[group(pair.label) * side + group(pair.predicted)] += double(pair.count);
    for (std::size_t row = 0; row < side; ++row) {
        const auto begin = cells.fractions.begin() + std::ptrdiff_t(row * side);
        const double sum = std::accumulate(begin, begin + std::ptrdiff_t(side), 0.0);
        if (sum > 0)
            std::for_each(begin, begin + std::ptrdiff_t(side), [&](double& v) { v /= sum; });
    }
    return cells;
}

std::string group_name(const ReportData& data, std::size_t group, std::size_t side) {
    const std::size_t classes = data.evaluation->classes();
    if (side == classes) return class_label(data, std::int64_t(group), 18);
    const std::size_t first = (group * classes + side - 1) / side;
    const std::size_t last = ((group + 1) * classes + side - 1) / side - 1;
    return fmt::format("{}–{}", first, last);
}

std::string heat_map(const ReportData& data, const Cells& cells) {
    constexpr double kCell = 26, kRowNames = 130, kColumnNames = 120;
    const double grid = kCell * double(cells.side);
    std::string svg;
    for (std::size_t row = 0; row < cells.side; ++row) {
        const double y = kCell * double(row);
        svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                           kRowNames - 8, y + kCell / 2 + 4, group_name(data, row, cells.side));
        for (std::size_t column = 0; column < cells.side; ++column) {
            const double value = cells.fractions[row * cells.side + column];
            const double x = kRowNames + kCell * double(column);
            // The root lifts the few per cent that matter into sight.
            svg += fmt::format(
                "<rect class=\"cell\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                "fill-opacity=\"{:.3f}\"><title>{} as {}: {:.1f} %</title></rect>",
                x + 1, y + 1, kCell - 2, kCell - 2, 0.05 + 0.95 * std::sqrt(value),
                group_name(data, row, cells.side), group_name(data, column, cells.side),
                100 * value);
            if (cells.side <= kNumbersUpTo && value >= 0.005)
                svg += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{:.0f}</text>",
                                   value > 0.35 ? "on" : "off", x + kCell / 2, y + kCell / 2 + 4,
                                   100 * value);
        }
        const double x = kRowNames + kCell * (double(row) + 0.5);
        svg += fmt::format(
            "<text class=\"tick\" text-anchor=\"end\" transform=\"translate({} {}) rotate(-55)\">{}"
            "</text>\n",
            x + 4, grid + 14, group_name(data, row, cells.side));
    }
    const double width = kRowNames + grid + 10;
    return fmt::format(
        "<div class=\"scroll\"><svg viewBox=\"0 0 {0} {1}\" style=\"width:{0}px\" role=\"img\" "
        "aria-label=\"Confusion matrix\">\n{2}</svg></div>\n",
        width, grid + kColumnNames, svg);
}

std::string pairs_table(const ReportData& data) {
    std::vector<Confusion> pairs = data.evaluation->confusions();
    if (pairs.empty()) return {};
    const bool coarse = data.evaluation->classes() > kMatrixSide;
    pairs.resize(std::min(pairs.size(), coarse ? kPairs : kFewPairs));
    std::string rows;
    for (const Confusion& pair : pairs) {
        const ClassCount& count = data.evaluation->per_class()[std::size_t(pair.label)];
        rows += fmt::format(
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n dim\">{:.1f} "
            "%</td></tr>\n",
            class_label(data, pair.label), class_label(data, pair.predicted), pair.count,
            100 * double(pair.count) / double(count.images));
    }
    return fmt::format(
        "<h3>Most frequent</h3>\n<div class=\"scroll\"><table "
        "class=\"pairs\"><thead><tr>"
        "<th>label</th><th>taken for</th><th class=\"n\">images</th><th class=\"n\">of label</th>"
        "</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        rows);
}

// Every number that a measure knows of each class that has one.
std::string report_class_table(const ReportData& data) {
    std::string head, rows;
    const std::vector<ClassRow> classes = data.measure->class_rows();
    std::vector<std::size_t> order = worst_first(classes);
    for (const std::size_t i : order) {
        if (head.empty())
            for (const Score& score : classes[i].scores)
                head += fmt::format("<th class=\"n\">{}</th>", html_text(score.title));
        rows += fmt::format("<tr><th scope=\"row\">{}</th>", class_label(data, std::int64_t(i)));
        for (const Score& score : classes[i].scores)
            rows += fmt::format("<td class=\"n\">{}</td>", score_text(score));
        rows += "</tr>\n";
    }
    if (rows.empty()) return {};
    return section("Each class", "Worst first.",
                   fmt::format("<div class=\"scroll\"><table class=\"pairs\"><thead><tr><th>class"
                               "</th>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
                               head, rows));
}

}  // namespace

std::string report_classes(const ReportData& data) {
    if (data.measure) return report_class_table(data);
    if (!data.evaluation) return {};
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < data.evaluation->classes(); ++i)
        if (data.evaluation->per_class()[i].images > 0) order.push_back(i);
    if (order.empty()) return {};
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) { return data.evaluation->per_class()[i].accuracy(); });
    const bool all = order.size() <= kAllBars;
    std::string rows;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (!all && i == kEndBars) {
            rows += fmt::format("<tr><td class=\"gap\" colspan=\"4\">… {} classes …</td></tr>\n",
                                order.size() - 2 * kEndBars);
            i = order.size() - kEndBars;
        }
        rows += bar_row(data, order[i]);
    }
    return section("Accuracy of each class",
                   all ? "Worst first."
                       : "The worst and the best; <code>cait eval --per-class</code> lists all.",
                   fmt::format("<table class=\"bars\">\n<tbody>\n{}</tbody></table>\n", rows));
}

std::string report_confusion(const ReportData& data) {
    if (!data.evaluation || data.evaluation->images() == 0) return {};
    const std::size_t classes = data.evaluation->classes();
    const bool coarse = classes > kMatrixSide;
    const Cells cells = group_cells(*data.evaluation, coarse ? kMatrixSide - 5 : classes);
    return section(
        "What is taken for what",
        coarse ? "Each cell stands for several neighbouring classes, named by their numbers: rows "
                 "are labels, columns are predictions."
               : "Rows are labels, columns are predictions; numbers are per cent of the row.",
        fmt::format("<div class=\"pair\">\n<div>{}</div>\n<div>{}</div></div>\n",
                    heat_map(data, cells), pairs_table(data)));
}

}  // namespace cait
