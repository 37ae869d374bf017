// The results of studies of many runs: a table per arm, contrasts with their verdicts, curves. As
// JSON, CSV and a page. Nothing in them depends on time or on the machine: a sweep that was stopped
// many times gives the same bytes as one that was not.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluate/contrast.h"

namespace cait {

struct SweepRunResult {
    std::string arm;
    std::int64_t seed = 0;
    std::string status, reason;                   // "finished", "diverged", "failed"
    std::map<std::string, std::string> settings;  // that the study sets
    std::map<std::string, double> scores;         // of one that failed: what it counts as
    std::vector<std::pair<double, std::map<std::string, double>>> curve;  // by epochs done
};

struct SweepContrastResult {
    std::string name, better, worse, score;
    bool primary = false;
    double margin = 0;                // of a ratio: the least
    bool extended = false;            // looked at before: judged at half the level
    bool is_ratio = false;            // largest stable values instead of differences
    std::vector<std::int64_t> seeds;  // that both sides have
    std::vector<double> differences;  // or ratios, per seed
    std::optional<MeanInterval> interval = {};
    std::optional<double> p = {}, adjusted = {};
    Verdict verdict = Verdict::open;

    double significance() const { return extended ? kSignificance / 2 : kSignificance; }
};

struct SweepStudyResult {
    std::string name, title, score;  // score: of the tables of arms and of their curves
    std::vector<std::string> notes;
    std::size_t planned = 0;  // runs
    std::vector<std::string> arms;
    std::vector<SweepRunResult> runs;  // those with a record
    std::vector<SweepContrastResult> contrasts;
};

// Fills in intervals, p, Holm's p over the primary contrasts of all studies, and verdicts.
void judge(std::vector<SweepStudyResult>& studies);

nlohmann::ordered_json sweep_json(const std::vector<SweepStudyResult>& studies);
std::string sweep_csv(const std::vector<SweepStudyResult>& studies);
std::string sweep_html(const std::vector<SweepStudyResult>& studies);
// "top-1 41.20 %"
std::string named_score_text(const std::string& score, double value);
// For terminals: arms and contrasts.
std::string sweep_text(const std::vector<SweepStudyResult>& studies);

// "model.residual × model.depth" (also x or *), or one key: mean ± half an interval of the score
// over all runs with these settings. Throws UsageError for a key that no run sets.
std::string cross_table(const std::vector<SweepStudyResult>& studies, const std::string& keys,
                        const std::string& score);

}  // namespace cait
