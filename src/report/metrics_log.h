// metrics.jsonl: what a run measured, one JSON object per line, readable while the run goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "system/growing_file.h"

namespace cait {

// {"kind": "train", "step": 500, "epoch": 1.25, "loss": 2.31, "lr": 0.0005}
struct MetricsRecord {
    std::string kind;       // "train", "val", "note", "diverged"; other programs may add kinds
    std::int64_t step = 0;  // optimiser steps done
    double epoch = 0;       // epochs done, with the part of the running one
    std::map<std::string, double> values;
    std::string text = {};  // of kinds "note" and "diverged": what a person should know

    bool operator==(const MetricsRecord&) const = default;
};

// Names of values that the report and TensorBoard know.
namespace metric {
inline constexpr const char* kDiverged = "diverged";  // a kind: the last record of such a run
inline constexpr const char* kLoss = "loss";          // train and val
inline constexpr const char* kLr = "lr";
inline constexpr const char* kImagesPerSecond = "images_per_second";
inline constexpr const char* kPiecesPerSecond = "pieces_per_second";  // of targets, of translators
inline constexpr const char* kAccuracy = "top1";  // train: 0 to 1; val has the measure's scores
inline constexpr const char* kEpochLoss = "epoch_loss";  // of training, once at an epoch's end
inline constexpr const char* kEpochTop1 = "epoch_top1";
// Seconds since the record before.
inline constexpr const char* kSecondsData = "seconds_data";
inline constexpr const char* kSecondsForward = "seconds_forward";
inline constexpr const char* kSecondsBackward = "seconds_backward";
inline constexpr const char* kSecondsOptimiser = "seconds_optimiser";
inline constexpr const char* kSecondsOther = "seconds_other";
}  // namespace metric

// Appends records; each is in the file when append() returns. A number that JSON cannot hold (NaN,
// infinity) is written as null and read as NaN. The log is no part of a run's state: lines that
// something else has damaged are skipped by readers, and do not keep a run from going on.
class MetricsLog {
public:
    static MetricsLog start(const FilePlace& place);  // an old file is replaced
    // Goes on after a checkpoint: records of later steps, and a line that a crash cut off, go.
    static MetricsLog resume(const FilePlace& place, std::int64_t step);

    void append(const MetricsRecord& record);

    // What resume() could not read: the first such line, what is wrong with it, how many more there
    // are; empty: nothing.
    const std::string& damage() const { return damage_; }

private:
    // The file begins with `kept`; under a second name it stays as it was.
    MetricsLog(const FilePlace& place, std::string_view kept);

    GrowingFile file_;
    std::string damage_;
};

// Lines that cannot be read are left out, and so is a last one without its end.
std::vector<MetricsRecord> read_metrics(const FilePlace& place);

}  // namespace cait
