// The page of a study.
#include <fmt/format.h>

#include "analysis/principal.h"
#include "analysis/study.h"
#include "report/html.h"
#include "report/report_parts.h"

namespace cait {

namespace {

std::string charts_html(const std::vector<Figure>& charts) {
    std::string html;
    for (const Figure& chart : charts) html += figure_html(chart);
    return html.empty() ? "" : fmt::format("<div class=\"charts\">\n{}</div>\n", html);
}

std::string table(const std::string& head, const std::string& rows) {
    if (rows.empty()) return {};
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><thead><tr>{}</tr></thead>\n<tbody>\n{}"
        "</tbody></table></div>\n",
        head, rows);
}

std::string number_cell(const std::string& text) {
    return fmt::format("<td class=\"n\">{}</td>", text);
}

std::string number_head(const std::string& text) {
    return fmt::format("<th class=\"n\">{}</th>", html_text(text));
}

std::string name_cell(const std::string& name) {
    return fmt::format("<th scope=\"row\">{}</th>", html_text(name));
}

std::string energy_table(const Study& study) {
    std::string head = "<th>components that hold</th>", rows;
    for (const double mark : kEnergyMarks) head += number_head(fmt::format("{:g} %", 100 * mark));
    head += number_head("of");
    for (const StudiedModel& model : study.models) {
        if (model.energy.empty()) continue;
        rows += "<tr>" + name_cell(model.name);
        for (const double mark : kEnergyMarks)
            rows += number_cell(std::to_string(components_for(model.energy, mark)));
        rows += number_cell(std::to_string(model.dimension)) + "</tr>\n";
    }
    return table(head, rows);
}

std::string granularity_table(const Study& study) {
    if (study.models.front().granularity.empty()) return {};
    std::string head = "<th>model</th><th>trained at</th><th></th>", rows;
    for (const GranularityScore& score : study.models.front().granularity)
        head += number_head(fmt::format("{} ({})", score.level, score.classes));
    for (const StudiedModel& model : study.models) {
        const std::string trained = model.trained.empty() ? "—" : html_text(model.trained);
        std::string knn = fmt::format("<tr>{}<td>{}</td><td>kNN top-1</td>", name_cell(model.name),
                                      trained),
                    map = "<tr><th></th><td></td><td>mAP</td>";
        for (const GranularityScore& score : model.granularity) {
            knn += number_cell(fmt::format("{:.2f} %", 100 * score.top1));
            map += number_cell(fmt::format("{:.2f} %", 100 * score.map));
        }
        rows += knn + "</tr>\n" + map + "</tr>\n";
    }
    return table(head, rows);
}

std::string map_table(const Study& study) {
    std::string rows;
    for (const StudiedModel& model : study.models)
        if (model.map)
            rows += "<tr>" + name_cell(model.name) +
                    number_cell(fmt::format("{:.4f}", model.map->divergence)) +
                    number_cell(std::to_string(model.map->iterations)) + "</tr>\n";
    return table("<th>model</th>" + number_head("divergence") + number_head("iterations"), rows);
}

std::string spread_text(const StudiedModel& model, bool conditional) {
    const Spread spread = separability_spread(model, conditional);
    return fmt::format("{:.2f} %{}", 100 * spread.mean,
                       spread.deviation ? fmt::format(" ± {:.2f}", 100 * *spread.deviation) : "");
}

std::string separability_table(const Study& study) {
    std::string rows;
    for (const StudiedModel& model : study.models)
        if (!model.draws.empty())
            rows += "<tr>" + name_cell(model.name) + number_cell(spread_text(model, false)) +
                    number_cell(model.conditioned ? spread_text(model, true) : "—") +
                    number_cell(std::to_string(model.draws.size())) + "</tr>\n";
    return table(
        "<th>model</th>" + number_head("top-1") + number_head("conditioned") + number_head("draws"),
        rows);
}

// Explanations stand before what they explain only where there is something.
std::string part(const char* title, const std::string& why, const std::vector<Figure>& charts,
                 const std::string& rows) {
    return section(title, why, charts_html(charts) + rows);
}

}  // namespace

std::string study_html(const Study& study) {
    ReportData data;
    data.title = "What the features of " + study.data + " hold";
    data.facts = study.facts;
    data.notes = study.notes;
    std::string body = report_opening(data);
    body += part("How many directions they use",
                 "Energy of the principal components, largest first, added up. A lower curve means "
                 "that more directions are in use: a few of them do not sum the images up.",
                 energy_charts(study), energy_table(study));
    body += part("Accuracy by granularity",
                 "Features judged by their neighbours at every level of the labels: kNN with the "
                 "best number of neighbours, and the mean average precision of retrieval.",
                 granularity_charts(study), granularity_table(study));
    body += part("Maps",
                 fmt::format("t-SNE of {} images, perplexity {:g}: who is near whom. Distances "
                             "between groups and their sizes mean little.",
                             study.map_indices.size(), study.perplexity),
                 map_charts(study), map_table(study));
    body += part("Separability",
                 fmt::format("The images of each of the {} classes of level {} are split at random "
                             "into two halves, and a linear classifier of the features learns to "
                             "tell all halves apart: its accuracy on the same images. Chance is "
                             "{:.1f} %. Dots: mean of the draws. Thick: one standard deviation. "
                             "Thin: from the least to the most.",
                             study.coarse_classes, html_text(study.coarse),
                             50.0 / double(std::max<std::size_t>(1, study.coarse_classes))),
                 separability_charts(study), separability_table(study));
    body += report_closing(data);
    return page_html(data.title, body);
}

}  // namespace cait
