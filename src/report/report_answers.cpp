// The part of a report about single answers: whether confidence can be trusted, the most confident
// mistakes, and where several models disagree.
#include <fmt/format.h>

#include "report/html.h"
#include "report/report_parts.h"

namespace cait {

namespace {

// Accuracy of each bin as a bar, perfect calibration as the diagonal, and below it how many images
// are in each bin.
std::string reliability_svg(const Metrics& metrics) {
    constexpr double kSide = 240, kLeft = 46, kTop = 10, kCounts = 46, kGap = 8;
    const auto& bins = metrics.reliability();
    const double width = kSide / double(bins.size());
    std::string svg;
    for (const double v : {0.0, 0.25, 0.5, 0.75, 1.0}) {
        const double y = kTop + kSide * (1 - v);
        svg += fmt::format(
            "<path class=\"grid\" d=\"M{} {}h{}\"/><text class=\"tick\" x=\"{}\" y=\"{}\" "
            "text-anchor=\"end\">{:.0f} %</text>\n",
            kLeft, y, kSide, kLeft - 6, y + 3.5, 100 * v);
        svg += fmt::format(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:.0f} %</text>\n",
            kLeft + kSide * v, kTop + kSide + kGap + kCounts + 16, 100 * v);
    }
    std::uint64_t most = 1;
    for (const ReliabilityBin& bin : bins) most = std::max(most, bin.images);
    for (std::size_t i = 0; i < bins.size(); ++i) {
        const ReliabilityBin& bin = bins[i];
        if (bin.images == 0) continue;
        const double x = kLeft + width * double(i) + 1;
        const double height = kSide * bin.accuracy();
        const double count = kCounts * double(bin.images) / double(most);
        const std::string title =
            fmt::format("<title>{} images, confidence {:.1f} %, accuracy {:.1f} %</title>",
                        bin.images, 100 * bin.confidence(), 100 * bin.accuracy());
        svg += fmt::format(
            "<rect class=\"s1\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\">{}</rect>"
            "<rect class=\"muted\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">{}"
            "</rect>\n",
            x, kTop + kSide - height, width - 2, height, title, x,
            kTop + kSide + kGap + kCounts - count, width - 2, count, title);
    }
    svg += fmt::format("<path class=\"diagonal\" d=\"M{} {}L{} {}\"/>\n", kLeft, kTop + kSide,
                       kLeft + kSide, kTop);
    return fmt::format(
        "<svg class=\"square\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Reliability "
        "diagram\">\n{}</svg>\n",
        kLeft + kSide + 20, kTop + kSide + kGap + kCounts + 22, svg);
}

}  // namespace

std::string report_reliability(const ReportData& data) {
    if (!data.evaluation || data.evaluation->images() == 0) return {};
    return section(
        "Can its confidence be trusted?",
        fmt::format("Bars: accuracy of the answers given with about that confidence. On the line, "
                    "a model is right as often as it says. Below: how many answers. Expected "
                    "calibration error {:.2f} % over {} bins.",
                    100 * data.evaluation->ece(), kReliabilityBins),
        reliability_svg(*data.evaluation));
}

std::string report_worst(const ReportData& data) {
    if (data.mistakes.empty()) return {};
    std::string cards;
    for (const ReportMistake& shown : data.mistakes) {
        const std::string name = html_text(shown.name);
        cards += "<figure>";
        if (!shown.picture.pixels.empty())
            cards += fmt::format(R"(<img src="{}" width="{}" height="{}" alt="{}" title="{}">)",
                                 png_uri(shown.picture), shown.picture.width, shown.picture.height,
                                 name, name);
        else
            cards += fmt::format(R"(<p class="dim">{}</p>)", name);
        cards += fmt::format(
            "<figcaption><b>{}</b> {:.1f} %<br><span class=\"dim\">label:</span> {}</figcaption>"
            "</figure>\n",
            class_label(data, shown.mistake.predicted), 100 * shown.mistake.confidence,
            class_label(data, shown.mistake.label));
    }
    return section("Most confident mistakes",
                   "What the model said, how sure it was, and what the label says. Wrong labels "
                   "show up here, too.",
                   fmt::format("<div class=\"cards\">\n{}</div>\n", cards));
}

std::string report_disagreement(const ReportData& data) {
    if (!data.disagreement) return {};
    const DisagreementTable& table = *data.disagreement;
    std::string html = "<tr><th></th>";
    for (const std::string& name : table.names)
        html += fmt::format("<th class=\"n\">{}</th>", html_text(cut_text(name, 40)));
    html += "</tr>\n";
    for (std::size_t row = 0; row < table.names.size(); ++row) {
        html +=
            fmt::format("<tr><th scope=\"row\">{}</th>", html_text(cut_text(table.names[row], 40)));
        for (std::size_t column = 0; column < table.names.size(); ++column)
            html += fmt::format("<td class=\"n{}\">{:.3f}</td>", row == column ? " dim" : "",
                                table.at(row, column));
        html += "</tr>\n";
    }
    return section(
        "Who disagrees with whom",
        fmt::format("Fraction of the {} images on which two decide differently.", table.images),
        fmt::format("<div class=\"scroll\"><table class=\"pairs\">\n{}</table></div>\n", html));
}

}  // namespace cait
