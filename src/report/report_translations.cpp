// The part of a report about translations: BLEU by the length of the sentence, the worst ones, and
// some as they come.
#include <fmt/format.h>

#include "report/html.h"
#include "report/line_chart.h"
#include "report/report_parts.h"

namespace cait {

namespace {

constexpr std::size_t kMostText = 600;  // characters of a sentence that are shown

std::string lengths_html(const ReportData& data) {
    if (data.lengths.empty()) return {};
    LineChart chart{.title = "BLEU by words of the source",
                    .x_label = "words",
                    .unit = ChartUnit::number,
                    .from_zero = true,
                    .series = {{"BLEU", {}}},
                    .every_point = true,
                    .name = "bleu-by-length",
                    .y_label = "BLEU"};
    std::string rows;
    for (const ReportLength& one : data.lengths) {
        const std::string words = fmt::format("{} to {}", one.least, one.most);
        chart.series[0].points.emplace_back(double(chart.x_names.size()), one.bleu);
        chart.x_names.push_back(words);
        rows += fmt::format(
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td "
            "class=\"n\">{:.2f}</td></tr>\n",
            words, one.sentences, one.bleu);
    }
    return section("Short and long sentences",
                   "Of sentences whose sources have a like number of words; few sentences make an "
                   "unsteady BLEU.",
                   fmt::format("<div class=\"charts\">\n{}</div>\n<div class=\"scroll\">"
                               "<table class=\"pairs\"><thead><tr><th>words</th><th class=\"n\">"
                               "sentences</th><th class=\"n\">BLEU</th></tr></thead>\n<tbody>\n{}"
                               "</tbody></table></div>\n",
                               line_chart_html(chart), rows));
}

std::string sentence_html(const std::string& text) {
    return fmt::format("<td dir=\"auto\">{}</td>", html_text(cut_text(text, kMostText)));
}

std::string sentences_html(const char* title, const char* why,
                           const std::vector<ReportSentence>& sentences) {
    if (sentences.empty()) return {};
    std::string rows;
    for (const ReportSentence& one : sentences)
        rows += fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}<td class=\"n\">{:.1f}</td></tr>\n",
                            html_text(one.name), sentence_html(one.source),
                            sentence_html(one.reference), sentence_html(one.translation), one.chrf);
    return section(title, why,
                   fmt::format("<div class=\"scroll\"><table class=\"pairs\"><thead><tr><th></th>"
                               "<th>source</th><th>reference</th><th>translation</th>"
                               "<th class=\"n\">chrF</th></tr></thead>\n<tbody>\n{}"
                               "</tbody></table></div>\n",
                               rows));
}

}  // namespace

std::string report_translations(const ReportData& data) {
    return lengths_html(data) +
           sentences_html("Worst sentences",
                          "By chrF of the sentence alone. Wrong references show up here, too.",
                          data.sentences) +
           sentences_html("Examples", "Evenly from the whole data set.", data.examples);
}

}  // namespace cait
