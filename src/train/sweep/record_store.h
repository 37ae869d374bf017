// The records of a study: those that its sweep has written, and those that are kept elsewhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/sweep/record.h"
#include "train/sweep/runs.h"

namespace cait {

class RecordStore {
public:
    // New ones go to OUT/records/STUDY; the further folders have STUDY/*.json or records/STUDY.
    RecordStore(const std::filesystem::path& out, const std::string& study,
                const std::vector<std::filesystem::path>& further);

    // Throws Error that names the record and the first setting that differs when it was made by
    // other settings: results of another study under the same name would be mixed in.
    std::optional<RunRecord> find(const SweepRun& run) const;

    void write(const SweepRun& run, RunRecord record) const;
    void remove(const SweepRun& run) const;  // of the sweep's own

private:
    std::filesystem::path own_;
    std::vector<std::filesystem::path> further_;
    std::string study_;
};

}  // namespace cait
