#include "system/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cait/error.h"
#include "system/file_place.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// Component by component instead of openat2(), which not every kernel and container has: without
// ".." and links there is no way out for either.
int open_component(int folder, const char* name, int flags, mode_t mode) {
    const int fd = ::openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0) return fd;
    // A link in place of a folder is ENOTDIR for the system; EEXIST tells enough by itself.
    const int reason = errno;
    struct stat info {};
    const bool is_link =
        ::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
    errno = is_link && reason != EEXIST ? ELOOP : reason;
    return -1;
}

[[noreturn]] void fail(const fs::path& path, const char* action) {
    throw Error(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
}

}  // namespace

int open_below(int folder, const fs::path& name, int flags, mode_t mode) {
    std::vector<std::string> parts;
    for (const fs::path& part : name)
        if (!part.empty() && part != ".") parts.push_back(part.string());
    if (parts.empty() || name.is_absolute() || std::ranges::find(parts, "..") != parts.end()) {
        errno = parts.empty() ? EINVAL : EXDEV;
        return -1;
    }
    Descriptor above;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        Descriptor next(open_component(above ? above.get() : folder, parts[i].c_str(),
                                       O_PATH | O_DIRECTORY, 0));
        if (!next) return -1;
        above = std::move(next);
    }
    return open_component(above ? above.get() : folder, parts.back().c_str(), flags, mode);
}

FolderPtr Folder::open(const fs::path& path) {
    Descriptor descriptor(::open(path.empty() ? "." : path.c_str(), kFolder));
    if (!descriptor) fail(path, "open the folder");
    return std::make_shared<const Folder>(path, std::move(descriptor));
}

FolderPtr Folder::make(const fs::path& path) {
    std::error_code failure;
    fs::create_directories(path, failure);
    if (failure)
        throw Error(
            fmt::format("{}: cannot make the folder: {}", path.string(), failure.message()));
    return open(path);
}

FolderPtr Folder::make_below(const std::string& name) const {
    constexpr mode_t kMode = 0777;  // the umask takes away from it
    if (::mkdirat(descriptor_.get(), name.c_str(), kMode) != 0 && errno != EEXIST)
        fail(path_ / name, "make the folder");
    Descriptor descriptor(open_below(descriptor_.get(), name, kFolder));
    if (!descriptor && errno == ELOOP) throw LinkRefused(path_ / name, "a folder");
    if (!descriptor) fail(path_ / name, "open the folder");
    return std::make_shared<const Folder>(path_ / name, std::move(descriptor));
}

std::vector<std::string> Folder::names() const {
    // A descriptor of its own: reading a folder moves a position in it.
    Descriptor again(::openat(descriptor_.get(), ".", kFolder));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(again ? ::fdopendir(again.get()) : nullptr,
                                                      ::closedir);
    if (!entries) fail(path_, "read the folder");
    (void)again.release();  // closedir() closes it
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(entries.get()))
        if (const std::string name = entry->d_name; name != "." && name != "..")
            names.push_back(name);
    std::ranges::sort(names);
    return names;
}

}  // namespace cait
