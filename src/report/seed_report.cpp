// seeds.html: a study of seeds as a page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/report_parts.h"
#include "report/seed_study.h"
#include "report/spread_charts.h"

namespace cait {

namespace {

constexpr std::size_t kFewest = 3;  // points that make a cloud

std::string spread_cells(const Spread& spread, double scale, const char* unit, int digits) {
    return fmt::format(
        "<td class=\"n\">{:.{}f}{}</td><td class=\"n dim\">{}</td><td class=\"n\">{:.{}f}</td>"
        "<td class=\"n\">{:.{}f}</td>",
        scale * spread.mean, digits, unit,
        spread.deviation ? fmt::format("± {:.{}f}", scale * *spread.deviation, digits) : "",
        scale * spread.least, digits, scale * spread.most, digits);
}

std::string results_table(const std::vector<SeedResults>& results) {
    std::string rows;
    for (const SeedResults& result : results)
        rows += fmt::format(
            "<tr><th scope=\"row\">{0}</th><td>top-1</td>{1}</tr>\n"
            "<tr><th></th><td>top-5</td>{2}</tr>\n<tr><th></th><td>loss</td>{3}</tr>\n",
            html_text(result.test), spread_cells(result.top1, 100, " %", 2),
            spread_cells(result.top5, 100, " %", 2), spread_cells(result.loss, 1, "", 4));
    if (rows.empty()) return {};
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><thead><tr><th>test set</th><th></th>"
        "<th class=\"n\">mean</th><th class=\"n\">std</th><th class=\"n\">min</th>"
        "<th class=\"n\">max</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        rows);
}

std::string runs_table(const SeedStudy& study, const std::vector<SeedResults>& results) {
    if (results.empty()) return {};
    std::string head = "<th>seed</th>", rows;
    for (const SeedResults& result : results)
        head += fmt::format("<th class=\"n\">{}</th>", html_text(cut_text(result.test, 40)));
    for (std::size_t i = 0; i < study.runs.size(); ++i) {
        rows += fmt::format("<tr><th scope=\"row\">{}</th>", study.runs[i].seed);
        for (const SeedResults& result : results)
            rows += fmt::format("<td class=\"n\">{:.2f} %</td>", 100 * result.of_runs[i].top1);
        rows += "</tr>\n";
    }
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><thead><tr>{}</tr></thead>\n<tbody>\n{}"
        "</tbody></table></div>\n",
        head, rows);
}

std::vector<std::string> seed_names(const SeedStudy& study) {
    std::vector<std::string> names;
    for (const SeedRun& run : study.runs) names.push_back(fmt::format("seed {}", run.seed));
    return names;
}

std::string distributions(const std::vector<SeedResults>& results) {
    std::string charts;
    for (const SeedResults& result : results) {
        Histogram chart{
            cut_text(result.test, 60), "top-1 at the final epoch", ChartUnit::percent, {}};
        for (const EpochScores& scores : result.of_runs) chart.values.push_back(scores.top1);
        charts += histogram_html(chart);
    }
    return charts;
}

// How results on one test set foretell those on the next.
std::string clouds_of_tests(const SeedStudy& study, const std::vector<SeedResults>& results) {
    std::string charts;
    for (std::size_t t = 1; t < results.size() && study.runs.size() >= kFewest; ++t) {
        ScatterChart chart{fmt::format("Top-1 on {}", cut_text(results[t].test, 60)),
                           fmt::format("top-1 on {}", cut_text(results[0].test, 60)),
                           ChartUnit::percent,
                           {},
                           seed_names(study)};
        for (std::size_t i = 0; i < study.runs.size(); ++i)
            chart.points.emplace_back(results[0].of_runs[i].top1, results[t].of_runs[i].top1);
        charts += scatter_chart_html(chart);
    }
    return charts;
}

// All epochs, and the last of them on a scale of their own.
std::string bands(const SeedStudy& study) {
    constexpr std::size_t kEnough = 10;
    const auto epochs = seed_epochs(study);
    std::string charts =
        band_chart_html({"Top-1 on validation, all epochs", "epoch", ChartUnit::percent, epochs});
    if (epochs.size() < kEnough) return charts;
    const std::size_t last = std::max<std::size_t>(5, epochs.size() / 6);
    return charts + band_chart_html({"The last epochs",
                                     "epoch",
                                     ChartUnit::percent,
                                     {epochs.end() - std::ptrdiff_t(last), epochs.end()}});
}

double top1_at(const SeedRun& run, double epoch) {
    for (const MetricsRecord& record : run.records)
        if (const auto found = record.values.find(metric::kTop1);
            record.kind == "val" && record.epoch == epoch && found != record.values.end())
            return found->second;
    return std::nan("");
}

// Whether an early result tells the final one: at a half, five sixths and 29 thirtieths of the way,
// as the thesis has it (epochs 150, 250 and 290 of 300).
std::string clouds_of_epochs(const SeedStudy& study) {
    const auto epochs = seed_epochs(study);
    if (epochs.size() < 2 || study.runs.size() < kFewest) return {};
    const double last = epochs.back().first;
    std::string charts;
    double before = 0;
    for (const double share : {1.0 / 2, 5.0 / 6, 29.0 / 30}) {
        const auto at = std::ranges::min_element(
            epochs, {}, [&](const auto& epoch) { return std::fabs(epoch.first - share * last); });
        if (at->first == before || at->first == last) continue;
        before = at->first;
        ScatterChart chart{fmt::format("Final top-1 by that of epoch {:g}", before),
                           fmt::format("top-1 at epoch {:g}", before),
                           ChartUnit::percent,
                           {},
                           seed_names(study)};
        for (const SeedRun& run : study.runs)
            chart.points.emplace_back(top1_at(run, before), top1_at(run, last));
        charts += scatter_chart_html(chart);
    }
    return charts;
}

std::string charts_of(const std::string& charts) {
    return charts.empty() ? "" : fmt::format("<div class=\"charts\">\n{}</div>\n", charts);
}

}  // namespace

std::string seeds_html(const SeedStudy& study) {
    const std::vector<SeedResults> results = seed_results(study);
    ReportData data;
    data.title = study.title;
    data.facts = study.facts;
    data.notes = study.notes;
    data.recipe = study.recipe;
    std::string body = report_opening(data);
    body += section("Results at the final epoch",
                    fmt::format("{} of {} runs that differ in nothing but their seed. The standard "
                                "deviation is that of a sample: squares are divided by n - 1.",
                                study.runs.size(), study.requested),
                    results_table(results));
    body += section("How they are distributed",
                    "Bars: runs. Line: the normal distribution of the same mean and deviation.",
                    charts_of(distributions(results)));
    body += section("How they spread along the run",
                    "Line: mean. Dark: one standard deviation. Light: from the least to the most.",
                    charts_of(bands(study)));
    body += section("Does one test set foretell another?", "Each point is a seed.",
                    charts_of(clouds_of_tests(study, results)));
    body += section("Does an early result foretell the final one?", "Each point is a seed.",
                    charts_of(clouds_of_epochs(study)));
    body += section("Every run", "Top-1 at the final epoch.", runs_table(study, results));
    body += report_closing(data);
    return page_html(study.title, body);
}

}  // namespace cait
