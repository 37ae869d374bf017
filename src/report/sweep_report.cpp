#include "report/sweep_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "base/suggest.h"
#include "cait/error.h"
#include "evaluate/scores.h"
#include "report/sweep_report_parts.h"

namespace cait {

namespace {

using SweepJson = nlohmann::ordered_json;

std::set<std::string> score_names(const SweepStudyResult& study) {
    std::set<std::string> names;
    for (const SweepRunResult& run : study.runs)
        for (const auto& [name, value] : run.scores) names.insert(name);
    return names;
}

SweepJson number_or_null(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? SweepJson(*value) : SweepJson(nullptr);
}

SweepJson interval_json(const MeanInterval& interval) {
    return {{"n", interval.count},
            {"mean", interval.mean},
            {"deviation", number_or_null(interval.deviation)},
            {"low", number_or_null(interval.low)},
            {"high", number_or_null(interval.high)}};
}

SweepJson contrast_json(const SweepContrastResult& contrast) {
    SweepJson json{
        {"name", contrast.name},         {"better", contrast.better},
        {"worse", contrast.worse},       {"score", contrast.score},
        {"primary", contrast.primary},   {contrast.is_ratio ? "ratio" : "margin", contrast.margin},
        {"seeds", contrast.seeds},       {"differences", contrast.differences},
        {"extended", contrast.extended}, {"significance", contrast.significance()}};
    json["interval"] = contrast.interval ? interval_json(*contrast.interval) : SweepJson(nullptr);
    json["p"] = number_or_null(contrast.p);
    json["p_holm"] = number_or_null(contrast.adjusted);
    json["verdict"] = verdict_name(contrast.verdict);
    return json;
}

SweepJson arm_json(const SweepStudyResult& study, const std::string& arm) {
    const auto runs = std::ranges::count(study.runs, arm, &SweepRunResult::arm);
    const std::size_t failed = failed_of_arm(study, arm);
    SweepJson scores = SweepJson::object();
    for (const std::string& name : score_names(study))
        if (const auto values = scores_of_arm(study, arm, name); !values.empty())
            scores[name] = interval_json(mean_interval(values));
    return {{"arm", arm}, {"runs", runs}, {"failed", failed}, {"scores", scores}};
}

// A field of a table: quoted where it has to be.
std::string csv_text(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
}

std::string value_of(const SweepRunResult& run, const std::string& key) {
    if (key == "arm") return run.arm;
    if (key == "seed") return std::to_string(run.seed);
    const auto found = run.settings.find(key);
    return found == run.settings.end() ? std::string() : found->second;
}

// "a × b" at a sign between spaces.
std::vector<std::string> keys_of_table(const std::string& text) {
    for (const char* sign : {" × ", " x ", " * "})
        if (const std::size_t at = text.find(sign); at != std::string::npos)
            return {text.substr(0, at), text.substr(at + std::string_view(sign).size())};
    return {text};
}

std::size_t text_width(const std::string& text) {  // characters, not bytes
    return std::size_t(
        std::ranges::count_if(text, [](char c) { return (std::uint8_t(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(width - std::min(width, text_width(text)), ' ');
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (widths.size() <= i) widths.push_back(0);
            widths[i] = std::max(widths[i], text_width(row[i]));
        }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i] + 2);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

// As they were found.
std::vector<std::string> levels_of(const std::vector<const SweepRunResult*>& runs,
                                   const std::string& key) {
    std::vector<std::string> levels;
    for (const SweepRunResult* run : runs)
        if (const std::string value = value_of(*run, key);
            std::ranges::find(levels, value) == levels.end())
            levels.push_back(value);
    return levels;
}

}  // namespace

std::vector<double> scores_of_arm(const SweepStudyResult& study, const std::string& arm,
                                  const std::string& score) {
    std::vector<double> values;
    for (const SweepRunResult& run : study.runs)
        if (const auto found = run.scores.find(score);
            run.arm == arm && found != run.scores.end() && std::isfinite(found->second))
            values.push_back(found->second);
    return values;
}

std::size_t failed_of_arm(const SweepStudyResult& study, const std::string& arm) {
    return std::size_t(std::ranges::count_if(study.runs, [&](const SweepRunResult& run) {
        return run.arm == arm && run.status != "finished";
    }));
}

std::string mean_text(const MeanInterval& interval, bool fraction) {
    const double scale = fraction ? 100 : 1;
    if (!interval.low) return fmt::format("{:.2f}", scale * interval.mean);
    return fmt::format("{:.2f} ± {:.2f}", scale * interval.mean,
                       scale * (*interval.high - *interval.low) / 2);
}

std::string score_title(const std::string& score) {
    const Score* known = find_score(known_scores(), score);
    return known == nullptr ? score : known->title;
}

std::string named_score_text(const std::string& score, double value) {
    return is_fraction(score) ? fmt::format("{} {:.2f} %", score_title(score), 100 * value)
                              : fmt::format("{} {:.4f}", score_title(score), value);
}

bool is_fraction(const std::string& score) {
    return score.find("loss") == std::string::npos && score.find("stable") == std::string::npos;
}

void judge(std::vector<SweepStudyResult>& studies) {
    std::vector<SweepContrastResult*> primary;
    std::vector<double> p;
    for (SweepStudyResult& study : studies)
        for (SweepContrastResult& contrast : study.contrasts) {
            if (contrast.differences.empty() || contrast.is_ratio) continue;
            contrast.interval = mean_interval(contrast.differences, 1 - contrast.significance());
            contrast.p = paired_p(contrast.differences);
            if (contrast.primary && contrast.p) {
                primary.push_back(&contrast);
                p.push_back(*contrast.p);
            }
        }
    const std::vector<double> adjusted = holm(p);
    for (std::size_t i = 0; i < primary.size(); ++i) primary[i]->adjusted = adjusted[i];
    for (SweepStudyResult& study : studies)
        for (SweepContrastResult& contrast : study.contrasts) {
            if (contrast.differences.empty()) continue;
            if (!contrast.is_ratio) {
                contrast.verdict = verdict_of(*contrast.interval, contrast.margin,
                                              contrast.adjusted, contrast.significance());
                continue;
            }
            // In all seeds, for there are few of them and rates lie on a grid.
            const auto all = [&](auto holds) {
                return std::ranges::all_of(contrast.differences, holds);
            };
            if (contrast.differences.size() < 2) continue;
            if (all([&](double ratio) { return ratio >= contrast.margin; }))
                contrast.verdict = Verdict::shown;
            else if (all([](double ratio) { return ratio < 1; }))
                contrast.verdict = Verdict::contradicted;
        }
}

SweepJson sweep_json(const std::vector<SweepStudyResult>& studies) {
    SweepJson list = SweepJson::array(), runs = SweepJson::array();
    for (const SweepStudyResult& study : studies) {
        SweepJson arms = SweepJson::array(), contrasts = SweepJson::array();
        for (const std::string& arm : study.arms) arms.push_back(arm_json(study, arm));
        for (const auto& contrast : study.contrasts) contrasts.push_back(contrast_json(contrast));
        list.push_back({{"name", study.name},
                        {"title", study.title},
                        {"planned", study.planned},
                        {"recorded", study.runs.size()},
                        {"notes", study.notes},
                        {"arms", arms},
                        {"contrasts", contrasts}});
        for (const SweepRunResult& run : study.runs) {
            SweepJson scores = SweepJson::object();
            for (const auto& [name, value] : run.scores) scores[name] = number_or_null(value);
            runs.push_back({{"study", study.name},
                            {"arm", run.arm},
                            {"seed", run.seed},
                            {"status", run.status},
                            {"reason", run.reason},
                            {"settings", run.settings},
                            {"scores", scores}});
        }
    }
    return {{"studies", list}, {"runs", runs}};
}

std::string sweep_csv(const std::vector<SweepStudyResult>& studies) {
    std::set<std::string> settings, scores;
    for (const SweepStudyResult& study : studies)
        for (const SweepRunResult& run : study.runs) {
            for (const auto& [key, value] : run.settings) settings.insert(key);
            for (const auto& [name, value] : run.scores) scores.insert(name);
        }
    std::string text = "study,arm,seed,status,reason";
    for (const std::string& key : settings) text += "," + csv_text(key);
    for (const std::string& name : scores) text += "," + csv_text("score." + name);
    text += "\n";
    for (const SweepStudyResult& study : studies)
        for (const SweepRunResult& run : study.runs) {
            text += fmt::format("{},{},{},{},{}", csv_text(study.name), csv_text(run.arm), run.seed,
                                run.status, csv_text(run.reason));
            for (const std::string& key : settings) text += "," + csv_text(value_of(run, key));
            for (const std::string& name : scores) {
                const auto found = run.scores.find(name);
                text += found == run.scores.end() || !std::isfinite(found->second)
                            ? ","
                            : fmt::format(",{}", found->second);
            }
            text += "\n";
        }
    return text;
}

std::string contrast_mean_text(const SweepContrastResult& contrast) {
    if (contrast.is_ratio) {
        std::vector<std::string> ratios;
        for (const double ratio : contrast.differences)
            ratios.push_back(fmt::format("{:g}", ratio));
        return ratios.empty() ? "–" : fmt::format("{}", fmt::join(ratios, ", "));
    }
    if (!contrast.interval) return "–";
    const double scale = is_fraction(contrast.score) ? 100 : 1;
    if (!contrast.interval->low) return fmt::format("{:+.2f}", scale * contrast.interval->mean);
    return fmt::format("{:+.2f} [{:+.2f}, {:+.2f}]{}", scale * contrast.interval->mean,
                       scale * *contrast.interval->low, scale * *contrast.interval->high,
                       contrast.extended ? " (extended, 97.5 %)" : "");
}

std::string sweep_text(const std::vector<SweepStudyResult>& studies) {
    std::string text;
    for (const SweepStudyResult& study : studies) {
        text += fmt::format("{}: {}; {} of {} runs\n", printable(study.name),
                            printable(study.title), study.runs.size(), study.planned);
        const bool percent = is_fraction(study.score);
        std::vector<std::vector<std::string>> rows{
            {"arm", "n", "failed",
             fmt::format("{}{}, 95 %", score_title(study.score), percent ? " %" : "")}};
        for (const std::string& arm : study.arms) {
            const SweepJson json = arm_json(study, arm);
            const auto values = scores_of_arm(study, arm, study.score);
            if (json["runs"] == 0) continue;
            rows.push_back({arm, json["runs"].dump(), json["failed"].dump(),
                            values.empty() ? "–" : mean_text(mean_interval(values), percent)});
        }
        if (rows.size() > 1) text += aligned(rows);
        rows = {{"contrast", "margin", "n", "mean [95 %]", "p", "Holm", "verdict"}};
        const auto p_text = [](const std::optional<double>& p) {
            return p ? fmt::format("{:.4f}", *p) : std::string("–");
        };
        for (const SweepContrastResult& contrast : study.contrasts) {
            const double scale = is_fraction(contrast.score) && !contrast.is_ratio ? 100 : 1;
            rows.push_back({contrast.name + (contrast.primary ? " *" : ""),
                            fmt::format("{:g}", scale * contrast.margin),
                            std::to_string(contrast.differences.size()),
                            contrast_mean_text(contrast), p_text(contrast.p),
                            p_text(contrast.adjusted),
                            std::string(verdict_name(contrast.verdict))});
        }
        if (rows.size() > 1) text += "\n" + aligned(rows);
        for (const std::string& note : study.notes)
            text += fmt::format("note: {}\n", printable(note));
        text += "\n";
    }
    return text;
}

std::string cross_table(const std::vector<SweepStudyResult>& studies, const std::string& keys,
                        const std::string& score) {
    const std::vector<std::string> by = keys_of_table(keys);
    std::vector<const SweepRunResult*> runs;
    std::set<std::string> known{"arm", "seed"};
    for (const SweepStudyResult& study : studies)
        for (const SweepRunResult& run : study.runs) {
            runs.push_back(&run);
            for (const auto& [key, value] : run.settings) known.insert(key);
        }
    for (const std::string& key : by)
        if (!known.contains(key))
            throw UsageError(fmt::format(
                "--table: no run sets '{}'; nearest: {}", printable(key),
                fmt::join(nearest_names(key, std::vector<std::string>(known.begin(), known.end())),
                          ", ")));
    const auto cell = [&](const std::string& row, const std::string& column) {
        std::vector<double> values;
        for (const SweepRunResult* run : runs) {
            const auto found = run->scores.find(score);
            if (value_of(*run, by[0]) == row &&
                (by.size() < 2 || value_of(*run, by[1]) == column) && found != run->scores.end() &&
                std::isfinite(found->second))
                values.push_back(found->second);
        }
        return values.empty()
                   ? std::string("–")
                   : fmt::format("{} ({})", mean_text(mean_interval(values), is_fraction(score)),
                                 values.size());
    };
    const std::vector<std::string> columns =
        by.size() < 2 ? std::vector<std::string>{score} : levels_of(runs, by[1]);
    std::vector<std::vector<std::string>> rows{{keys}};
    rows[0].insert(rows[0].end(), columns.begin(), columns.end());
    for (const std::string& row : levels_of(runs, by[0])) {
        rows.push_back({row.empty() ? "(not set)" : row});
        for (const std::string& column : columns) rows.back().push_back(cell(row, column));
    }
    return aligned(rows);
}

}  // namespace cait
