#include "train/run/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cait/error.h"
#include "core/atomic_file.h"
#include "recipe/recipe_file.h"

namespace cait {

RunFolder::RunFolder(std::filesystem::path path) : path_(std::move(path)) {
    // Released by the kernel when the process ends, however it ends.
    const std::filesystem::path file = path_ / ".lock";
    lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (lock_ < 0)
        throw Error(fmt::format("{}: cannot write: {}", file.string(), std::strerror(errno)));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        ::close(std::exchange(lock_, -1));
        throw Error(fmt::format("{}: another process is training here", path_.string()));
    }
    clear_stale_temporaries(*Folder::open(path_));  // of runs that were killed
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
    if (lock_ >= 0) ::close(lock_);
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
    std::error_code failure;
    std::filesystem::create_directories(path, failure);
    if (failure)
        throw Error(
            fmt::format("{}: cannot make the folder: {}", path.string(), failure.message()));
    RunFolder folder(path);
    require_free(path);
    AtomicFile file(folder.recipe());
    file.write(recipe_text(recipe));
    file.commit();
    return folder;
}

RunFolder RunFolder::open(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path))
        throw Error(fmt::format("{}: expected the folder of a run", path.string()));
    RunFolder folder(path);
    if (!std::filesystem::exists(folder.recipe()))
        throw Error(
            fmt::format("{}: expected recipe.toml: not the folder of a run", path.string()));
    return folder;
}

std::filesystem::path RunFolder::epoch(std::uint64_t number) const {
    return path_ / fmt::format("epoch-{:04}.safetensors", number);
}

}  // namespace cait
