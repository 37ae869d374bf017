#include "train/sweep/child_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "base/version.h"
#include "cait/error.h"
#include "report/metrics_log.h"
#include "system/atomic_file.h"
#include "system/file_bytes.h"
#include "system/machine.h"
#include "train/diverged.h"
#include "train/recipe/recipe_file.h"
#include "train/sweep/teacher_weights.h"

namespace cait {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kIdentityFile = "sweep.txt";  // whose run the folder holds

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// The last line that says something; what a progress bar has overwritten is left out.
std::string last_line(const std::string& text) {
    std::string last;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        if (const std::size_t bar = line.rfind('\r'); bar != std::string::npos)
            line.erase(0, bar + 1);
        if (line.find_first_not_of(' ') != std::string::npos) last = line;
        begin = end + 1;
    }
    return last.starts_with("cait: ") ? last.substr(6) : last;
}

// Every number of an answer of `cait eval`: "top1", "retrieval.map", "knn.20.accuracy".
void add_scores(const nlohmann::json& json, const std::string& prefix,
                std::map<std::string, double>& scores) {
    static const std::set<std::string> kNoScores = {
        "seconds",    "images_per_second", "reliability", "worst",  "per_class",
        "crop_ratio", "classes",           "images",      "skipped"};
    for (const auto& [key, value] : json.items()) {
        if (kNoScores.contains(key)) continue;
        const std::string name = prefix.empty() ? key : prefix + "." + key;
        if (value.is_number()) scores[name] = value.get<double>();
        if (value.is_object()) add_scores(value, name, scores);
        if (!value.is_array()) continue;
        for (const nlohmann::json& item : value)  // of several k or levels
            for (const char* by : {"k", "level"})
                if (item.is_object() && item.contains(by))
                    add_scores(
                        item,
                        name + "." +
                            (item[by].is_string() ? item[by].get<std::string>() : item[by].dump()),
                        scores);
    }
}

// Shares of right answers among the images at even and at odd places (figure 6.9 of the thesis
// compares two test sets).
void add_halves(const fs::path& predictions, std::map<std::string, double>& scores) {
    double right[2] = {0, 0}, images[2] = {0, 0};
    const std::string text = read_text(predictions);
    std::size_t number = 0;
    for (std::size_t begin = text.find('\n') + 1; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        const std::size_t a = line.find(','), b = line.find(',', a + 1), c = line.find(',', b + 1);
        if (c == std::string::npos)
            throw Error(fmt::format("{}: expected path, label and answer", predictions.string()));
        ++images[number % 2];
        right[number % 2] += line.substr(a + 1, b - a - 1) == line.substr(b + 1, c - b - 1);
    }
    scores["top1_even"] = images[0] == 0 ? 0 : right[0] / images[0];
    scores["top1_odd"] = images[1] == 0 ? 0 : right[1] / images[1];
}

void claim_folder(const fs::path& folder, const SweepRun& run) {
    const FilePlace place(Folder::make(folder), kIdentityFile);
    if (place.exists()) {
        if (read_text(place) != run.identity + "\n")
            throw Error(fmt::format(
                "{}: holds a run that was begun with other settings; move it away, or choose "
                "another --out",
                folder.string()));
        return;
    }
    AtomicFile file(place);
    file.write(run.identity + "\n");
    file.commit();
}

}  // namespace

std::string failure_text(const ChildProcess& child) {
    const std::string line = last_line(child.error_text());
    if (child.was_killed())
        return fmt::format("ended by signal {} ({})", child.code() - 128,
                           ::strsignal(child.code() - 128));
    return line.empty() ? fmt::format("exit code {}", child.code()) : line;
}

fs::path run_folder(const fs::path& out, const SweepRun& run) { return out / run.folder(); }

std::vector<std::string> train_words(const SweepStudy& study, const SweepRun& run,
                                     const fs::path& out, const ChildOptions& options) {
    // What the study sets has been looked at for all its runs together (runs.h).
    std::vector<std::string> words{"train", recipe_word(study), "--allow-unused"};
    for (const auto& [key, value] : run.words) {
        const auto weights = parse_teacher_weights(value);
        const std::string file =
            weights ? teacher_file(out, *weights, study.score).string() : value;
        words.insert(words.end(), {"--set", key + "=" + file});
    }
    if (options.threads > 0)
        words.insert(words.end(), {"--set", fmt::format("data.threads={}", options.threads)});
    return words;
}

ChildProcess start_child(const std::vector<std::string>& words, const ChildOptions& options,
                         int inherited) {
    ChildProcess::Options child{.environment = {},
                                .silent = true,
                                .signals = {},
                                .keep_output = true,
                                .niceness = options.niceness,
                                .inherited = inherited};
    ::pthread_sigmask(SIG_SETMASK, nullptr, &child.signals);
    // A sweep may be a task of Slurm's; its runs are not, and do not wait for those of other tasks.
    child.environment = {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}};
    if (options.threads > 0) child.environment["OMP_NUM_THREADS"] = std::to_string(options.threads);
    std::vector<std::string> command{"/proc/self/exe"};
    command.insert(command.end(), words.begin(), words.end());
    return {command, child};
}

ChildRun::ChildRun(const SweepStudy& study, const SweepRun& run, const fs::path& out,
                   const ChildOptions& options, Descriptor lock)
    : study_(study),
      run_(run),
      out_(out),
      folder_(run_folder(out, run)),
      options_(options),
      lock_(std::move(lock)),
      start_(Clock::now()) {
    claim_folder(folder_, run);
    std::vector<std::string> words = train_words(study, run, out, options);
    if (fs::exists(folder_ / "recipe.toml")) {
        words = {"train", "--resume", folder_.string()};
        if (options.threads > 0)
            words.insert(words.end(), {"--set", fmt::format("data.threads={}", options.threads)});
    } else {
        words.insert(words.end(), {"--out", folder_.string()});
    }
    record_.started = now_text();
    child_.emplace(start_child(words, options_, lock_.get()));
}

double ChildRun::seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

std::vector<int> ChildRun::pipes() const {
    std::vector<int> open;
    for (const int pipe : {child_->error_pipe(), child_->output_pipe()})
        if (pipe >= 0) open.push_back(pipe);
    return open;
}

ChildRun::State ChildRun::advance(bool stopping) {
    if (!child_->poll()) return State::running;
    if (!test_) return after_training(stopping);
    if (child_->code() != 0 && stopping) return State::interrupted;
    return after_test();
}

ChildRun::State ChildRun::after_training(bool stopping) {
    const int code = child_->code();
    const bool asked = std::ranges::any_of(std::array{SIGTERM, SIGINT, SIGHUP, SIGXCPU},
                                           [&](int signal) { return code == 128 + signal; });
    if (code != 0 && (stopping || asked)) return State::interrupted;
    finish_training();
    if (code != 0)
        return fail(code == kDivergedExit ? RunStatus::diverged : RunStatus::failed,
                    failure_text(*child_));
    if (stopping) return State::interrupted;  // the tests come with the next start
    if (run_.tuning) {
        const auto last =
            record_.curve.empty() ? std::map<std::string, double>() : record_.curve.back().values;
        const auto score = last.find(study_.score);
        if (score == last.end())
            return fail(RunStatus::failed,
                        fmt::format("no {} of a validation at its final epoch", study_.score));
        record_.scores[study_.score] = score->second;
        return State::recorded;
    }
    return next_test();
}

// Curve, time and place; scores that need no test.
void ChildRun::finish_training() {
    const fs::path metrics = folder_ / "metrics.jsonl";
    if (fs::exists(metrics)) {
        const std::vector<MetricsRecord> records = read_metrics(metrics);
        record_.curve = curve_of(records);
        record_.seconds = training_seconds(records);
        // Earlier starts of a run that was interrupted are taken to have had the same share.
        record_.processor_seconds =
            record_.seconds * child_->processor_seconds() / std::max(seconds(), 1e-3);
    }
    const Machine machine = this_machine();
    record_.machine = {.processor = machine.processor,
                       .isa = std::string(isa_name(machine.used)),
                       .precision = "",
                       .version = std::string(version()),
                       .threads = options_.threads > 0 ? options_.threads : machine.threads,
                       .jobs = options_.jobs};
    if (fs::exists(folder_ / "recipe.toml"))
        record_.machine.precision = read_recipe(folder_ / "recipe.toml").train.precision;
    if (record_.curve.empty()) return;
    const auto& last = record_.curve.back().values;
    if (const auto loss = last.find("train_loss"); loss != last.end())
        record_.scores["train_loss"] = loss->second;
    record_.scores["stable"] = is_stable(record_.curve) ? 1 : 0;
}

ChildRun::State ChildRun::fail(RunStatus status, std::string reason) {
    record_.status = status;
    record_.reason = std::move(reason);
    record_.scores.clear();
    return State::recorded;
}

// The test set first, then the further ones.
ChildRun::State ChildRun::next_test() {
    test_ = test_ ? *test_ + 1 : study_.test.empty() ? 1 : 0;
    if (*test_ > study_.evals.size()) return State::recorded;
    std::vector<std::string> words{"eval", "--weights", (folder_ / "last.safetensors").string(),
                                   "--json"};
    if (options_.threads > 0)
        words.insert(words.end(), {"--threads", std::to_string(options_.threads)});
    if (*test_ == 0) {
        words.insert(words.end(), {"--data", study_.fill(study_.test)});
        if (study_.halves)
            words.insert(words.end(), {"--predictions", (folder_ / "predictions.csv").string()});
    } else {
        for (const std::string& word : study_.evals[*test_ - 1].second)
            words.push_back(study_.fill(word));
    }
    start_ = Clock::now();
    child_.reset();
    child_.emplace(start_child(words, options_, lock_.get()));
    return State::running;
}

ChildRun::State ChildRun::after_test() {
    record_.seconds += seconds();
    record_.processor_seconds += child_->processor_seconds();
    if (child_->code() != 0) return fail(RunStatus::failed, "test: " + failure_text(*child_));
    const auto json = nlohmann::json::parse(child_->output_text(), nullptr, false);
    if (!json.is_object()) return fail(RunStatus::failed, "test: expected JSON of `cait eval`");
    add_scores(json, *test_ == 0 ? "" : study_.evals[*test_ - 1].first, record_.scores);
    if (*test_ == 0 && study_.halves) add_halves(folder_ / "predictions.csv", record_.scores);
    return next_test();
}

}  // namespace cait
