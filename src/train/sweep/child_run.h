// One run of a sweep as child processes: `cait train`, then `cait eval` of its final weights. It is
// advanced by whoever looks after it, and never waits.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "system/child_process.h"
#include "system/descriptor.h"
#include "train/sweep/record.h"
#include "train/sweep/runs.h"

namespace cait {

struct ChildOptions {
    int niceness = 0;
    int threads = 0;  // of each run; 0: as many as there are
    int jobs = 1;
};

// `out` is the folder of the study: runs lie below it.
std::filesystem::path run_folder(const std::filesystem::path& out, const SweepRun& run);
// Words for `cait train`, with the weights of other runs as files.
std::vector<std::string> train_words(const SweepStudy& study, const SweepRun& run,
                                     const std::filesystem::path& out, const ChildOptions& options);
ChildProcess start_child(const std::vector<std::string>& words, const ChildOptions& options,
                         int inherited);

// Why it failed: the last line that it wrote as an error, or the signal that ended it.
std::string failure_text(const ChildProcess& child);

class ChildRun {
public:
    enum class State { running, recorded, interrupted };  // interrupted: it can go on

    // Starts or resumes. Throws Error when the folder holds another run, or the program cannot be
    // started. `lock` is inherited by the children.
    ChildRun(const SweepStudy& study, const SweepRun& run, const std::filesystem::path& out,
             const ChildOptions& options, Descriptor lock);

    // Looks after the child, starts the next one. With State::recorded, record() is complete.
    State advance(bool stopping);
    void stop() const { child_->send(SIGTERM); }
    std::vector<int> pipes() const;

    const SweepRun& run() const { return run_; }
    const RunRecord& record() const { return record_; }
    double seconds() const;

private:
    State after_training(bool stopping);
    State after_test();
    State next_test();
    State fail(RunStatus status, std::string reason);
    void finish_training();

    const SweepStudy& study_;
    const SweepRun& run_;
    std::filesystem::path out_, folder_;
    ChildOptions options_;
    Descriptor lock_;
    std::optional<ChildProcess> child_;
    std::optional<std::size_t> test_;  // the one that runs; none: training
    RunRecord record_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace cait
