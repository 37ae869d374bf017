#include "train/sweep/forecast.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cmath>

#include "cait/error.h"
#include "train/sweep/teacher_weights.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kLongestTrial{10};
constexpr int kTrialLookMilliseconds = 100;

// A folder that is gone afterwards.
struct ScratchFolder {
    fs::path path = fs::temp_directory_path() / fmt::format("cait-sweep-{}", ::getpid());
    ScratchFolder() { fs::remove_all(path); }
    ~ScratchFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

// Seconds per epoch between the first two records of training; nothing before they are there.
std::optional<double> epoch_seconds(const fs::path& metrics) {
    if (!fs::exists(metrics)) return std::nullopt;
    std::optional<double> first;
    for (const MetricsRecord& record : read_metrics(metrics)) {
        if (record.kind != "train") continue;
        if (first) return training_seconds({record}) / (record.epoch - *first);
        first = record.epoch;
    }
    return std::nullopt;
}

bool is_trained(const SweepStudy& study, const fs::path& out, const std::string& value) {
    const auto weights = parse_teacher_weights(value);
    if (!weights) return true;
    try {
        teacher_file(out, *weights, study.score);
        return true;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

RunForecast forecast(const SweepStudy& study, const SweepRun& run, const fs::path& out,
                     const ChildOptions& options, const std::function<int()>& stop) {
    for (const auto& [key, value] : run.words)
        if (!is_trained(study, out, value))
            return {{}, 0, fmt::format("its {} is not trained yet", value)};
    const ScratchFolder scratch;
    std::vector<std::string> words = train_words(study, run, out, options);
    words.insert(words.end(), {"--out", scratch.path.string()});
    ChildProcess child = start_child(words, options, -1);
    const auto deadline = std::chrono::steady_clock::now() + kLongestTrial;
    std::optional<double> measured;
    bool asked = false;
    while (!child.poll()) {
        ::poll(nullptr, 0, kTrialLookMilliseconds);
        if (!measured) measured = epoch_seconds(scratch.path / "metrics.jsonl");
        if (!asked && (measured || stop() != 0 || std::chrono::steady_clock::now() > deadline)) {
            child.send(SIGTERM);
            asked = true;
        }
    }
    if (!measured) measured = epoch_seconds(scratch.path / "metrics.jsonl");
    RunForecast result{{}, child.peak_bytes()};
    if (measured)
        result.seconds = *measured * run.epochs;
    else
        result.reason = asked ? "too slow to time" : failure_text(child);
    return result;
}

}  // namespace cait
