// The sections of a report; each returns HTML, or nothing where there is nothing to show.
#pragma once

#include <string>
#include <string_view>

#include "report/report.h"

namespace cait {

std::string report_style();  // CSS

// A whole page; `body` is HTML. It asks no network for anything and runs no script.
std::string page_html(std::string_view title, std::string_view body);

std::string report_opening(const ReportData& data);  // title, headline and notes
std::string report_closing(const ReportData& data);  // facts and recipe
std::string report_headline(const ReportData& data);
std::string report_epochs(const ReportData& data);
std::string report_heads(const ReportData& data);
std::string report_curves(const ReportData& data);
std::string report_timing(const ReportData& data);
std::string report_classes(const ReportData& data);  // accuracy of each
std::string report_confusion(const ReportData& data);
std::string report_reliability(const ReportData& data);
std::string report_worst(const ReportData& data);
std::string report_segments(const ReportData& data);   // the worst, with overlays
std::string report_precision(const ReportData& data);  // of boxes and masks, by recall
std::string report_translations(const ReportData& data);  // by length, the worst, examples
std::string report_disagreement(const ReportData& data);

// "tench", or "#17" where the names do not reach; ready for the page.
std::string class_label(const ReportData& data, std::int64_t label, std::size_t most = 60);

std::string section(std::string_view title, std::string_view explanation, std::string_view content);

}  // namespace cait
