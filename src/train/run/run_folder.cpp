#include "train/run/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <set>
#include <utility>

#include "cait/error.h"
#include "system/atomic_file.h"
#include "system/file_bytes.h"
#include "train/recipe/recipe_file.h"

namespace cait {

namespace {

// Everything that a run or a study of seeds reads or writes; beside it people may keep what they
// like, links too.
bool is_of_a_run(const std::string& name) {
    static const std::set<std::string> kNames = {
        ".lock",       "recipe.toml",      "state.safetensors", "metrics.jsonl",
        "report.html", "last.safetensors", "best.safetensors",  "last_ema.safetensors",
        "tensorboard", RunFiles::kHoldout, "finished.json",     "seeds.json",
        "seeds.html"};
    return kNames.contains(name) || name.starts_with("epoch-") || name.starts_with("averaged-") ||
           name.starts_with("seed-");
}

}  // namespace

RunFiles::RunFiles(FolderPtr folder) : folder_(std::move(folder)) {
    for (const std::string& name : folder_->names()) {
        if (!is_of_a_run(name)) continue;
        const FilePlace place(folder_, name);
        const bool is_folder = name == "tensorboard" || name.starts_with("seed-");
        if (S_ISLNK(place.mode().value_or(S_IFREG)))
            throw LinkRefused(place.path(), is_folder ? "a folder" : "a regular file");
    }
}

RunFolder::RunFolder(FolderPtr folder) : RunFiles(std::move(folder)) {
    // Released by the kernel when the process ends, however it ends.
    const FilePlace file(this->folder(), ".lock");
    lock_ = Descriptor(file.open(O_RDWR | O_CREAT | O_NONBLOCK, 0666));
    if (!lock_) file.fail("write");
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
        throw Error(fmt::format("{}: another process is training here", path().string()));
    clear_stale_temporaries(*this->folder());  // of runs that were killed
}

namespace {

// The first file with weights that a run has left, if there is one.
std::string result_in(const std::filesystem::path& folder) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        const bool weights = name.starts_with("best") || name.starts_with("last") ||
                             name.starts_with("epoch-") || name == "state.safetensors";
        if (weights && name.ends_with(".safetensors")) return name;
    }
    return "";
}

}  // namespace

void RunFolder::require_free(const std::filesystem::path& path) {
    if (const std::string found = result_in(path); !found.empty())
        throw UsageError(fmt::format(
            "{}: already holds a run ({}); go on with it by --resume, or choose another --out",
            path.string(), found));
}

void RunFolder::require_no_results(const std::filesystem::path& path) {
    if (const std::string found = result_in(path); !found.empty())
        throw Error(fmt::format(
            "{}: expected state.safetensors to go on from, found only {}: starting over would "
            "replace it; to start a new run from its weights give --weights {} and another --out",
            path.string(), found, (path / found).string()));
}

RunFolder RunFolder::create(const std::filesystem::path& path, const Recipe& recipe) {
    RunFolder folder(Folder::make(path));
    require_free(path);
    folder.keep_recipe(recipe);
    return folder;
}

void RunFolder::keep_recipe(const Recipe& recipe) const {
    const std::string text = recipe_text(recipe);
    if (this->recipe().exists() && read_text(this->recipe()) == text) return;
    AtomicFile file(this->recipe());
    file.write(text);
    file.commit();
}

RunFolder RunFolder::open(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path))
        throw Error(fmt::format("{}: expected the folder of a run", path.string()));
    RunFolder folder(Folder::open(path));
    if (!folder.recipe().exists())
        throw Error(
            fmt::format("{}: expected recipe.toml: not the folder of a run", path.string()));
    return folder;
}

FilePlace RunFiles::epoch(std::uint64_t number) const {
    return {folder_, fmt::format("epoch-{:04}.safetensors", number)};
}

FilePlace RunFiles::averaged(std::uint64_t slot) const {
    return {folder_, fmt::format("averaged-{}.safetensors", slot)};
}

FilePlace RunFiles::epoch_ema(std::uint64_t number) const {
    return {folder_, fmt::format("epoch-{:04}_ema.safetensors", number)};
}

}  // namespace cait
