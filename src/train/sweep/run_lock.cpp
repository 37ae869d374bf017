#include "train/sweep/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include "system/file_place.h"

namespace cait {

std::optional<Descriptor> try_lock(const FolderPtr& folder, const std::string& name) {
    const FilePlace place(folder, name);
    Descriptor lock(place.open(O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!lock) place.fail("write");
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    return lock;
}

bool is_trained_by_another(const std::filesystem::path& run) {
    if (!std::filesystem::exists(run / ".lock")) return false;
    const Descriptor lock(
        FilePlace(Folder::open(run), ".lock").open(O_RDWR | O_NONBLOCK | O_CLOEXEC, 0));
    return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace cait
