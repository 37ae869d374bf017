#include "report/analysis_report.h"

#include <fmt/format.h>

#include "report/html.h"
#include "report/report_parts.h"
#include "system/atomic_file.h"

namespace cait {

namespace {

std::string table_html(const std::vector<std::vector<std::string>>& table) {
    if (table.empty()) return {};
    std::string html = "<div class=\"scroll\"><table class=\"pairs\">\n";
    for (std::size_t i = 0; i < table.size(); ++i) {
        const char* cell = i == 0 ? "th" : "td";
        html += "<tr>";
        for (std::size_t k = 0; k < table[i].size(); ++k)
            html += fmt::format("<{0}{1}>{2}</{0}>", cell, k > 0 ? " class=\"n\"" : "",
                                html_text(table[i][k]));
        html += "</tr>\n";
    }
    return html + "</table></div>\n";
}

}  // namespace

std::string analysis_html(const std::string& title, const std::vector<ReportFact>& facts,
                          const std::vector<AnalysisSection>& sections) {
    ReportData data;
    data.title = title;
    data.facts = facts;
    std::string body = report_opening(data);
    for (const AnalysisSection& one : sections) {
        std::string charts;
        for (const Figure& figure : one.figures) charts += figure_html(figure);
        if (!charts.empty()) charts = "<div class=\"charts\">\n" + charts + "</div>\n";
        body += section(one.title, one.why, charts + table_html(one.table));
    }
    return page_html(title, body + report_closing(data));
}

void write_analysis(const std::filesystem::path& path, const std::string& title,
                    const std::vector<ReportFact>& facts,
                    const std::vector<AnalysisSection>& sections) {
    AtomicFile file(path);
    file.write(analysis_html(title, facts, sections));
    file.commit();
}

}  // namespace cait
