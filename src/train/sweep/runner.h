// Runs a study: starts what is not finished, several at a time, and keeps a record of each. It may
// be stopped or killed at any moment and started again: what is finished stays, and a run that was
// begun goes on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/sweep/extension.h"
#include "train/sweep/record_store.h"
#include "train/sweep/runs.h"

namespace cait {

struct SweepProgress {
    std::size_t done = 0, total = 0;
    std::vector<std::string> running;  // "linear-1"
    double cost_seconds = 0;           // so far, of all runs of the study
    std::optional<double> seconds_left;
};

struct SweepOptions {
    std::filesystem::path out;
    std::vector<std::filesystem::path> records;  // kept elsewhere
    int jobs = 1;
    int shard = 1, shards = 1;      // run number i belongs to shard i modulo shards
    std::vector<std::string> arms;  // only these now; empty: all
    int niceness = 19;
    bool retry_failed = false;
    bool final = false;  // after tuning, also the runs that the test images judge
    std::function<int()> stop = [] { return 0; };  // a signal that asks to end; 0: none
    std::function<void(const std::string& line)> report = [](const std::string&) {};
    std::function<void(const SweepProgress&)> progress = [](const SweepProgress&) {};
};

struct SweepOutcome {
    int stopped_by = 0;                // a signal
    std::size_t left = 0;              // runs that are still to come
    bool cut = false;                  // seeds were left out to keep the budget
    std::vector<std::string> notes{};  // for the results: seeds that were cut, arms not needed
};

// Throws Error, with everything that is finished intact, when the disk is full or a folder holds
// something else.
SweepOutcome run_study(const SweepStudy& study, const SweepOptions& options);

// The same for the further seeds of a study that is finished.
SweepOutcome run_extension(const SweepStudy& study, const SweepOptions& options,
                           const std::vector<Extension>& extensions);

// Scores of the tuning runs that have a record, by name; NaN where they failed.
std::map<std::string, double> tune_scores(const SweepStudy& study, const RecordStore& store);

// A record's score; of a run that failed, what the study says that it counts as.
std::optional<double> score_of(const SweepStudy& study, const RunRecord& record,
                               const std::string& score);

// Of its budget, in seconds of a machine that ran several at a time. What other programs took of
// the machine meanwhile does not count.
double cost_of(const RunRecord& record);
// How long it took, of a sweep that runs several at a time.
double time_of(const RunRecord& record);

}  // namespace cait
