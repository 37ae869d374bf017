// results.html of a sweep: arms, contrasts and curves on a page that needs no other file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/html.h"
#include "report/interval_chart.h"
#include "report/report_parts.h"
#include "report/spread_charts.h"
#include "report/sweep_report_parts.h"

namespace cait {

namespace {

constexpr std::size_t kMostCurves = 16;  // arms with a chart of their own

std::string arms_table(const SweepStudyResult& study) {
    const bool percent = is_fraction(study.score);
    std::string rows;
    for (const std::string& arm : study.arms) {
        const auto runs = std::ranges::count(study.runs, arm, &SweepRunResult::arm);
        const std::vector<double> values = scores_of_arm(study, arm, study.score);
        rows += fmt::format(
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td>"
            "<td class=\"n\">{}</td></tr>\n",
            html_text(arm), runs, failed_of_arm(study, arm),
            values.empty() ? "–" : mean_text(mean_interval(values), percent));
    }
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><thead><tr><th>arm</th>"
        "<th class=\"n\">runs</th><th class=\"n\">failed</th><th class=\"n\">{}{}</th></tr>"
        "</thead>\n<tbody>\n{}</tbody></table></div>\n",
        html_text(score_title(study.score)), percent ? ", %" : "", rows);
}

// A setting that several arms share has a table of its own, over all runs with each of its values.
std::string setting_tables(const SweepStudyResult& study) {
    std::set<std::string> keys;
    for (const SweepRunResult& run : study.runs)
        for (const auto& [key, value] : run.settings) keys.insert(key);
    const bool percent = is_fraction(study.score);
    std::string tables;
    for (const std::string& key : keys) {
        std::vector<std::string> levels;  // as they were found
        std::map<std::string, std::vector<double>> scores;
        for (const SweepRunResult& run : study.runs) {
            const auto set = run.settings.find(key);
            const std::string level = set == run.settings.end() ? "(not set)" : set->second;
            if (std::ranges::find(levels, level) == levels.end()) levels.push_back(level);
            const auto found = run.scores.find(study.score);
            if (found != run.scores.end() && std::isfinite(found->second))
                scores[level].push_back(found->second);
        }
        if (levels.size() < 2 || levels.size() >= study.arms.size()) continue;
        std::string rows;
        for (const std::string& level : levels)
            rows += fmt::format(
                "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td "
                "class=\"n\">{}</td></tr>\n",
                html_text(level), scores[level].size(),
                scores[level].empty() ? "–" : mean_text(mean_interval(scores[level]), percent));
        tables += fmt::format(
            "<div class=\"scroll\"><table class=\"pairs\"><thead><tr><th>{}</th>"
            "<th class=\"n\">runs</th><th class=\"n\">{}{}</th></tr></thead>\n<tbody>\n{}</tbody>"
            "</table></div>\n",
            html_text(key), html_text(score_title(study.score)), percent ? ", %" : "", rows);
    }
    return tables;
}

std::string p_cell(const std::optional<double>& p) {
    return fmt::format("<td class=\"n\">{}</td>", p ? fmt::format("{:.4f}", *p) : "–");
}

std::string contrasts_table(const SweepStudyResult& study) {
    if (study.contrasts.empty()) return {};
    std::string rows;
    for (const SweepContrastResult& contrast : study.contrasts) {
        const double scale = is_fraction(contrast.score) && !contrast.is_ratio ? 100 : 1;
        const std::string name = html_text(contrast.name);
        rows += fmt::format(
            "<tr><th scope=\"row\">{}</th><td>{} vs {}</td><td>{}</td><td class=\"n\">{:g}</td>"
            "<td class=\"n\">{}</td><td class=\"n\">{}</td>{}{}<td>{}</td></tr>\n",
            contrast.primary ? "<b>" + name + "</b>" : name, html_text(contrast.better),
            html_text(contrast.worse), html_text(contrast.score), scale * contrast.margin,
            contrast.differences.size(), contrast_mean_text(contrast), p_cell(contrast.p),
            p_cell(contrast.adjusted), verdict_name(contrast.verdict));
    }
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><thead><tr><th>contrast</th><th></th>"
        "<th>score</th><th class=\"n\">margin</th><th class=\"n\">n</th>"
        "<th class=\"n\">mean [95 %]</th><th class=\"n\">p</th><th class=\"n\">Holm</th>"
        "<th>verdict</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        rows);
}

std::string runs_that_failed(const SweepStudyResult& study) {
    std::string rows;
    for (const SweepRunResult& run : study.runs)
        if (run.status != "finished")
            rows += fmt::format("<tr><th scope=\"row\">{}-{}</th><td>{}</td><td>{}</td></tr>\n",
                                html_text(run.arm), run.seed, html_text(run.status),
                                html_text(run.reason));
    if (rows.empty()) return {};
    return fmt::format(
        "<div class=\"scroll\"><table class=\"pairs\"><tbody>\n{}</tbody></table>"
        "</div>\n",
        rows);
}

std::string arms_chart(const SweepStudyResult& study) {
    const std::string title = score_title(study.score);
    IntervalChart chart{title + " by arm",
                        title,
                        is_fraction(study.score) ? ChartUnit::percent : ChartUnit::number,
                        {}};
    for (const std::string& arm : study.arms)
        if (const std::vector<double> values = scores_of_arm(study, arm, study.score);
            !values.empty())
            chart.rows.push_back({arm, 1, spread_of(values)});
    return figure_html(interval_figure(chart));
}

// The study's score where runs validate, the training loss where they do not.
std::string curve_chart(const SweepStudyResult& study, const std::string& arm) {
    for (const std::string& name : {study.score, std::string("train_loss")}) {
        std::map<double, std::vector<double>> by_epoch;
        for (const SweepRunResult& run : study.runs) {
            if (run.arm != arm) continue;
            for (const auto& [epoch, values] : run.curve)
                if (const auto found = values.find(name);
                    found != values.end() && std::isfinite(found->second))
                    by_epoch[epoch].push_back(found->second);
        }
        if (by_epoch.empty()) continue;
        const bool share = is_fraction(name);
        BandChart chart{fmt::format("{}: {}", cut_text(arm, 40),
                                    name == "train_loss" ? "training loss" : score_title(name)),
                        "epoch",
                        share ? ChartUnit::percent : ChartUnit::number,
                        {}};
        for (const auto& [epoch, values] : by_epoch)
            chart.points.emplace_back(epoch, spread_of(values));
        return band_chart_html(chart);
    }
    return {};
}

std::string sweep_charts(const std::string& charts) {
    return charts.empty() ? "" : fmt::format("<div class=\"charts\">\n{}</div>\n", charts);
}

std::string study_sections(const SweepStudyResult& study) {
    std::string notes;
    for (const std::string& note : study.notes)
        notes += fmt::format("<p>Note: {}.</p>\n", html_text(note));
    std::string html = section(
        fmt::format("{}: {}", study.name, study.title),
        fmt::format("{} of {} runs. Mean ± half of Student's 95 % interval over seeds, at the "
                    "final epoch; a run that diverged or failed counts as chance.",
                    study.runs.size(), study.planned),
        notes + arms_table(study) + sweep_charts(arms_chart(study)));
    if (const std::string tables = setting_tables(study); !tables.empty())
        html += section("By setting",
                        "Over all runs with that value, whatever else they have. The interval "
                        "counts each run by itself, also those of one seed.",
                        tables);
    if (!study.contrasts.empty())
        html += section(
            "Contrasts",
            "Differences of pairs with the same seed. Bold: primary, corrected by Holm over the "
            "primary contrasts of all studies on this page. Shown: the interval lies above 0 and "
            "the mean reaches the margin. Contradicted: it lies below 0.",
            contrasts_table(study));
    std::string curves;
    for (std::size_t i = 0; i < std::min(study.arms.size(), kMostCurves); ++i)
        curves += curve_chart(study, study.arms[i]);
    if (!curves.empty())
        html += section("Curves",
                        "Line: mean over seeds. Dark: one standard deviation. Light: from the "
                        "least to the most.",
                        sweep_charts(curves));
    if (const std::string failed = runs_that_failed(study); !failed.empty())
        html += section("Runs that diverged or failed", "", failed);
    return html;
}

}  // namespace

std::string sweep_html(const std::vector<SweepStudyResult>& studies) {
    const std::string title = studies.size() == 1 ? studies[0].title : "Studies";
    ReportData opening;
    opening.title = title;
    std::string body = report_opening(opening);
    for (const SweepStudyResult& study : studies) body += study_sections(study);
    return page_html(title, body);
}

}  // namespace cait
