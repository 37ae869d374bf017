#include "report/report.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "evaluate/scores.h"
#include "image/draw/draw.h"
#include "report/html.h"
#include "report/line_chart.h"
#include "report/report_parts.h"
#include "system/atomic_file.h"

namespace cait {

namespace {

constexpr std::int64_t kPictureSide = 128;

std::string facts_html(const ReportData& data) {
    if (data.facts.empty()) return {};
    std::string rows;
    for (const ReportFact& fact : data.facts)
        rows += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_text(fact.name),
                            html_text(fact.value));
    return section("Facts", "", fmt::format("<dl class=\"facts\">\n{}</dl>\n", rows));
}

std::string notes_html(const ReportData& data) {
    std::string items;
    for (const std::string& note : data.notes)
        items += fmt::format("<li>{}</li>\n", html_text(note));
    return items.empty() ? "" : fmt::format("<ul class=\"notes\">\n{}</ul>\n", items);
}

std::string recipe_html(const ReportData& data) {
    if (data.recipe.empty()) return {};
    return section("Recipe", "Everything that is needed to repeat the run.",
                   fmt::format("<pre>{}</pre>\n", html_text(data.recipe)));
}

std::string score_table(const char* what, const std::vector<ReportScore>& scores) {
    if (scores.empty()) return {};
    std::string head = fmt::format("<th>{}</th>", what), rows;
    for (const Score& score : main_scores(scores[0].scores))
        head += fmt::format("<th class=\"n\">{}</th>", html_text(score.title));
    for (const ReportScore& row : scores) {
        rows += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(row.name));
        for (const Score& score : main_scores(row.scores))
            rows += fmt::format("<td class=\"n\">{}</td>", score_text(score));
        rows += "</tr>\n";
    }
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><thead><tr>{}</tr></thead>\n<tbody>\n{}"
        "</tbody></table></div>\n",
        head, rows);
}

// What pages show of one kind of measure alone.
class PartsOfKind : public MeasureDetails {
public:
    PartsOfKind(const Dataset* images, ReportData& data) : images_(images), data_(data) {}

    void one_class(const Metrics& metrics) override {
        data_.measure = nullptr;  // the page has sections of its own for it
        data_.evaluation = metrics;
        if (images_ != nullptr) data_.mistakes = report_mistakes(*images_, metrics.worst());
    }
    void boxes(const DetectionScores& scores) override {
        data_.detection = {data_.measure, &scores};  // lives as long as the measure
    }

private:
    const Dataset* images_;
    ReportData& data_;
};

}  // namespace

std::string class_label(const ReportData& data, std::int64_t label, std::size_t most) {
    if (label < 0 || std::size_t(label) >= data.classes.size()) return fmt::format("#{}", label);
    return html_text(cut_text(data.classes[std::size_t(label)], most));
}

std::string section(std::string_view title, std::string_view explanation,
                    std::string_view content) {
    if (content.empty()) return {};
    return fmt::format(
        "<section>\n<h2>{}</h2>\n{}{}</section>\n", title,
        explanation.empty() ? "" : fmt::format("<p class=\"why\">{}</p>\n", explanation), content);
}

std::string report_headline(const ReportData& data) {
    if (!data.evaluation && !data.measure) return {};
    std::string tiles;
    const auto tile = [&](const std::string& name, const std::string& value) {
        tiles += fmt::format("<div><span>{}</span><b>{}</b></div>\n", name, value);
    };
    const std::string of =
        data.shown.empty() ? "" : fmt::format("<p class=\"dim\">{}</p>\n", html_text(data.shown));
    const auto finished = [&] {
        return of + fmt::format("<div class=\"tiles\">\n{}</div>\n", tiles);
    };
    if (data.measure) {
        for (const ShownScore& one : data.measure->shown())
            if (one.score.main) tile(html_text(one.score.title), score_text(one.score));
        std::string counted = data.measure->counted();  // plain letters
        counted[0] = char(std::toupper(counted[0]));
        tile(counted, fmt::format("{}", data.measure->images()));
        return finished();
    }
    const Metrics& m = *data.evaluation;
    tile(m.several_labels() ? "Top-1 (any right label)" : "Top-1",
         fmt::format("{:.2f} %", 100 * m.top1()));
    if (m.classes() > 5) tile("Top-5", fmt::format("{:.2f} %", 100 * m.top5()));
    tile("Mean over classes", fmt::format("{:.2f} %", 100 * m.mean_class_accuracy()));
    tile("Loss", fmt::format("{:.4f}", m.loss()));
    tile("Calibration error", fmt::format("{:.2f} %", 100 * m.ece()));
    tile("Images", fmt::format("{}", m.images()));
    return finished();
}

std::string report_epochs(const ReportData& data) {
    return section("Final and best epoch",
                   "Nobody chose the final epoch. The best one was chosen by its result on the "
                   "run's validation data, and flatters the run wherever those are what it is "
                   "measured on.",
                   score_table("epoch", data.epochs));
}

std::string report_heads(const ReportData& data) {
    return section("What each head alone would answer", "", score_table("head", data.heads));
}

std::string report_opening(const ReportData& data) {
    return fmt::format("<header><h1>{}</h1></header>\n", html_text(data.title)) +
           report_headline(data) + notes_html(data);
}

std::string report_closing(const ReportData& data) { return facts_html(data) + recipe_html(data); }

std::string report_html(const ReportData& data) {
    std::string body = report_opening(data);
    body += report_epochs(data) + report_heads(data) + report_curves(data);
    body += "<div class=\"pair\">\n" + report_reliability(data) + report_classes(data) + "</div>\n";
    body += report_precision(data) + report_confusion(data);
    body += report_worst(data) + report_segments(data) + report_translations(data);
    body += report_disagreement(data);
    body += report_timing(data) + report_closing(data);
    return page_html(data.title, body);
}

std::string page_html(std::string_view title, std::string_view body) {
    // The policy makes the browser hold what this file promises: no network, no script.
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; img-src data:\">\n"
        "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n"
        "</html>\n",
        html_text(title), report_style(), body);
}

void write_report(const FilePlace& place, const ReportData& data) {
    AtomicFile file(place);
    file.write(report_html(data));
    file.commit();
}

void show_measure(const MeasurePtr& measure, const Dataset* images, ReportData& data) {
    if (!measure) return;
    data.measure = measure;
    PartsOfKind parts(images, data);
    measure->tell(parts);
}

std::vector<ReportMistake> report_mistakes(const Dataset& dataset, std::span<const Mistake> worst) {
    std::vector<ReportMistake> list;
    for (const Mistake& mistake : worst) {
        ReportMistake shown{mistake, dataset.name(mistake.index), {}};
        try {
            shown.picture = fitted(dataset.image(mistake.index), kPictureSide);
        } catch (const Error&) {  // changed since the evaluation: the report goes without
            shown.picture = {};
        }
        list.push_back(std::move(shown));
    }
    return list;
}

}  // namespace cait
