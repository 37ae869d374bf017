// analysis.html: one page with what `cait analyze` found out about a model. It holds everything
// that it needs, as report.html does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/figure.h"
#include "report/report.h"

namespace cait {

struct AnalysisSection {
    std::string title;
    std::string why;  // what is shown, and where it comes from
    std::vector<Figure> figures;
    std::vector<std::vector<std::string>> table;  // its first row is the heading; may be empty
};

std::string analysis_html(const std::string& title, const std::vector<ReportFact>& facts,
                          const std::vector<AnalysisSection>& sections);

// Replaces the file whole or not at all.
void write_analysis(const std::filesystem::path& path, const std::string& title,
                    const std::vector<ReportFact>& facts,
                    const std::vector<AnalysisSection>& sections);

}  // namespace cait
