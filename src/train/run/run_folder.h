// The folder of a run: what lies where, and that only one process at a time trains in it.
#pragma once

#include <filesystem>

#include "recipe/recipe.h"

namespace cait {

class RunFolder {
public:
    // Throws UsageError when a run is there already.
    static void require_free(const std::filesystem::path& path);
    // Throws Error when there are weights of a run, which one that starts over would replace.
    static void require_no_results(const std::filesystem::path& path);
    // A new run: makes the folder and writes the recipe. Throws UsageError when one is there.
    static RunFolder create(const std::filesystem::path& path, const Recipe& recipe);
    // A run to go on with; throws Error when there is nothing to go on from.
    static RunFolder open(const std::filesystem::path& path);

    RunFolder(RunFolder&& other) noexcept;
    RunFolder& operator=(RunFolder&&) = delete;
    ~RunFolder();

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path recipe() const { return path_ / "recipe.toml"; }
    std::filesystem::path state() const { return path_ / "state.safetensors"; }
    std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
    std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
    std::filesystem::path report() const { return path_ / "report.html"; }
    std::filesystem::path last() const { return path_ / "last.safetensors"; }
    std::filesystem::path best() const { return path_ / "best.safetensors"; }
    std::filesystem::path last_ema() const { return path_ / "last_ema.safetensors"; }
    std::filesystem::path epoch(std::uint64_t number) const;  // "epoch-0030.safetensors"
    // The images that are held out for validation, where some are.
    static std::filesystem::path holdout_of(const std::filesystem::path& run) {
        return run / "holdout.csv";
    }

private:
    explicit RunFolder(std::filesystem::path path);

    std::filesystem::path path_;
    int lock_ = -1;
};

}  // namespace cait
