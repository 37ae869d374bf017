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

ChartUnit unit_of(const Score& score) {
    return score.format == ScoreFormat::percent ? ChartUnit::percent : ChartUnit::number;
}

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = char(text[0] - 'a' + 'A');
    return text;
}

std::string spread_cells(const SeedResults::Row& row) {
    const bool percent = row.score.format == ScoreFormat::percent;
    const double scale = percent ? 100 : 1;
    const int digits = percent ? 2 : 4;
    const Spread& spread = row.spread;
    return fmt::format(
        "<td class=\"n\">{:.{}f}{}</td><td class=\"n dim\">{}</td><td class=\"n\">{:.{}f}</td>"
        "<td class=\"n\">{:.{}f}</td>",
        scale * spread.mean, digits, percent ? " %" : "",
        spread.deviation ? fmt::format("± {:.{}f}", scale * *spread.deviation, digits) : "",
        scale * spread.least, digits, scale * spread.most, digits);
}

std::string results_table(const std::vector<SeedResults>& results) {
    std::string rows;
    for (const SeedResults& result : results)
        for (const SeedResults::Row& row : result.rows)
            rows += fmt::format("<tr><th{}</th><td>{}</td>{}</tr>\n",
                                &row == &result.rows[0]
                                    ? fmt::format(" scope=\"row\">{}", html_text(result.test))
                                    : ">",
                                html_text(row.score.title), spread_cells(row));
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
            rows += fmt::format("<td class=\"n\">{}</td>", score_text(result.of_runs[i].scores[0]));
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
        const Score& shown = result.rows[0].score;
        Histogram chart{
            cut_text(result.test, 60), shown.title + " at the final epoch", unit_of(shown), {}};
        for (const EpochScores& run : result.of_runs) chart.values.push_back(run.scores[0].value);
        charts += histogram_html(chart);
    }
    return charts;
}

// How results on one test set foretell those on the next.
std::string clouds_of_tests(const SeedStudy& study, const std::vector<SeedResults>& results) {
    std::string charts;
    for (std::size_t t = 1; t < results.size() && study.runs.size() >= kFewest; ++t) {
        const Score& shown = results[t].rows[0].score;
        ScatterChart chart{
            fmt::format("{} on {}", capitalised(shown.title), cut_text(results[t].test, 60)),
            fmt::format("{} on {}", shown.title, cut_text(results[0].test, 60)),
            unit_of(shown),
            {},
            seed_names(study)};
        for (std::size_t i = 0; i < study.runs.size(); ++i)
            chart.points.emplace_back(results[0].of_runs[i].scores[0].value,
                                      results[t].of_runs[i].scores[0].value);
        charts += scatter_chart_html(chart);
    }
    return charts;
}

// All epochs, and the last of them on a scale of their own.
std::string bands(const SeedStudy& study) {
    constexpr std::size_t kEnough = 10;
    const auto epochs = seed_epochs(study);
    const Score shown = leading_score(study);
    std::string charts = band_chart_html(
        {capitalised(shown.title) + " on validation, all epochs", "epoch", unit_of(shown), epochs});
    if (epochs.size() < kEnough) return charts;
    const std::size_t last = std::max<std::size_t>(5, epochs.size() / 6);
    return charts + band_chart_html({"The last epochs",
                                     "epoch",
                                     unit_of(shown),
                                     {epochs.end() - std::ptrdiff_t(last), epochs.end()}});
}

double value_at(const SeedRun& run, const std::string& name, double epoch) {
    for (const MetricsRecord& record : run.records)
        if (const auto found = record.values.find(name);
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
    const Score shown = leading_score(study);
    std::string charts;
    double before = 0;
    for (const double share : {1.0 / 2, 5.0 / 6, 29.0 / 30}) {
        const auto at = std::ranges::min_element(
            epochs, {}, [&](const auto& epoch) { return std::fabs(epoch.first - share * last); });
        if (at->first == before || at->first == last) continue;
        before = at->first;
        ScatterChart chart{fmt::format("Final {} by that of epoch {:g}", shown.title, before),
                           fmt::format("{} at epoch {:g}", shown.title, before),
                           unit_of(shown),
                           {},
                           seed_names(study)};
        for (const SeedRun& run : study.runs)
            chart.points.emplace_back(value_at(run, shown.name, before),
                                      value_at(run, shown.name, last));
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
    body += section("Every run", capitalised(leading_score(study).title) + " at the final epoch.",
                    runs_table(study, results));
    body += report_closing(data);
    return page_html(study.title, body);
}

}  // namespace cait
