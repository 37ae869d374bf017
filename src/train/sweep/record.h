// What is left of a finished run: one small JSON file. A run counts as finished by its record
// alone, which can be kept in a repository while the run's folder is gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/metrics_log.h"
#include "system/file_place.h"

namespace cait {

enum class RunStatus {
    finished,
    diverged,  // `cait train` ended so: steps in a row, or answers in a validation, not finite
    failed,    // anything else; `reason` has the last line that it wrote as an error
};
std::string_view status_name(RunStatus status);

struct RunMachine {
    std::string processor, isa, precision, version;
    int threads = 1;
    int jobs = 1;  // runs at a time
};

struct CurvePoint {
    double epoch = 0;                      // epochs done
    std::map<std::string, double> values;  // train_loss, train_top1; top1 and loss of a validation
};

struct RunRecord {
    std::string study, arm;
    std::int64_t seed = 0;
    std::string identity;  // runs.h
    std::map<std::string, std::string> settings;
    RunStatus status = RunStatus::finished;
    std::string reason;
    std::map<std::string, double> scores;
    std::vector<CurvePoint> curve;
    RunMachine machine;
    std::string started;  // "2026-11-18T09:42:00Z"
    double seconds = 0;   // of training and testing
    // That its threads had a processor, all together: less where other programs took a part of the
    // machine. 0: not recorded.
    double processor_seconds = 0;

    bool ok() const { return status == RunStatus::finished; }
};

// Throws Error that names the file and the field for what is no record.
RunRecord read_record(const FilePlace& place);
void write_record(const FilePlace& place, const RunRecord& record);  // whole or not at all

// A point per epoch, from a run's metrics.jsonl: training loss and accuracy are means over the
// epoch. Nothing in it depends on time.
std::vector<CurvePoint> curve_of(const std::vector<MetricsRecord>& records);
// Seconds of training in them; what a crash took with it is not among them.
double training_seconds(const std::vector<MetricsRecord>& records);

// Whether a training that ended was stable: its last epoch's loss is finite and not above that of a
// quarter of the way.
bool is_stable(const std::vector<CurvePoint>& curve);

}  // namespace cait
