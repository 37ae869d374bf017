#include "train/sweep/record_store.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "cait/error.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

// "optim.lr 0.001 -> 0.002".
std::string first_difference(const RunRecord& record, const SweepRun& run) {
    auto settings = run.settings;
    for (const auto& [key, value] : record.settings) {
        const auto found = settings.find(key);
        if (found == settings.end()) return fmt::format("{} {} -> its default", key, value);
        if (found->second != value) return fmt::format("{} {} -> {}", key, value, found->second);
        settings.erase(found);
    }
    for (const auto& [key, value] : settings)
        return fmt::format("{} its default -> {}", key, value);
    return "its test data, or a run that it learns from";
}

}  // namespace

RecordStore::RecordStore(const fs::path& out, const std::string& study,
                         const std::vector<fs::path>& further)
    : own_(out / "records" / study), study_(study) {
    for (const fs::path& folder : further) {
        further_.push_back(folder / study);
        further_.push_back(folder / "records" / study);
    }
}

std::optional<RunRecord> RecordStore::find(const SweepRun& run) const {
    std::vector<fs::path> folders{own_};
    folders.insert(folders.end(), further_.begin(), further_.end());
    for (const fs::path& folder : folders) {
        const fs::path file = folder / (run.name() + ".json");
        std::error_code ignored;
        if (!fs::exists(file, ignored)) continue;
        RunRecord record = read_record(file);
        if (record.identity != run.identity)
            throw Error(fmt::format(
                "{}: made by other settings ({}); move it away to run {} again, or give the study "
                "another name",
                file.string(), printable(first_difference(record, run)), run.name()));
        return record;
    }
    return std::nullopt;
}

void RecordStore::write(const SweepRun& run, RunRecord record) const {
    record.study = study_;
    record.arm = run.arm;
    record.seed = run.seed;
    record.identity = run.identity;
    record.settings = run.settings;
    write_record({Folder::make(own_), run.name() + ".json"}, record);
}

void RecordStore::remove(const SweepRun& run) const {
    std::error_code ignored;
    fs::remove(own_ / (run.name() + ".json"), ignored);
}

}  // namespace cait
