// The folder of a run: what lies where, and that only one process at a time trains in it. Somebody
// else may have made it: none of its files is opened through a link.
#pragma once

#include "system/descriptor.h"
#include "system/file_place.h"
#include "train/recipe/recipe.h"

namespace cait {

class RunFiles {
public:
    // The way to the folder itself may be a link. Throws LinkRefused, naming it, when a file of a
    // run in it is one, before anything is read or written.
    explicit RunFiles(FolderPtr folder);

    const std::filesystem::path& path() const { return folder_->path(); }
    const FolderPtr& folder() const { return folder_; }
    FilePlace recipe() const { return {folder_, "recipe.toml"}; }
    FilePlace state() const { return {folder_, kState}; }
    FilePlace metrics() const { return {folder_, "metrics.jsonl"}; }
    FilePlace report() const { return {folder_, "report.html"}; }
    FilePlace last() const { return {folder_, "last.safetensors"}; }
    FilePlace best() const { return {folder_, "best.safetensors"}; }
    FilePlace last_ema() const { return {folder_, "last_ema.safetensors"}; }
    FilePlace epoch(std::uint64_t number) const;      // "epoch-0030.safetensors"
    FilePlace epoch_ema(std::uint64_t number) const;  // "epoch-0030_ema.safetensors"
    // The weights of an epoch that save.average needs: "averaged-3.safetensors".
    FilePlace averaged(std::uint64_t slot) const;
    // The images that are held out for validation, where some are.
    FilePlace holdout() const { return {folder_, kHoldout}; }
    FolderPtr tensorboard() const { return folder_->make_below("tensorboard"); }

    static constexpr const char* kHoldout = "holdout.csv";
    static constexpr const char* kState = "state.safetensors";
    // For messages about the folder of a run.
    static std::filesystem::path state_of(const std::filesystem::path& run) { return run / kState; }

private:
    FolderPtr folder_;
};

class RunFolder : public RunFiles {
public:
    // Throws UsageError when a run is there already.
    static void require_free(const std::filesystem::path& path);
    // Throws Error when there are weights of a run, which one that starts over would replace.
    static void require_no_results(const std::filesystem::path& path);
    // A new run: makes the folder and writes the recipe. Throws UsageError when one is there.
    static RunFolder create(const std::filesystem::path& path, const Recipe& recipe);
    // A run to go on with; throws Error when there is nothing to go on from.
    static RunFolder open(const std::filesystem::path& path);
    // Writes recipe.toml unless it says the same already.
    void keep_recipe(const Recipe& recipe) const;

private:
    explicit RunFolder(FolderPtr folder);

    Descriptor lock_;
};

}  // namespace cait
