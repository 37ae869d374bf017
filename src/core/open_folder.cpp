#include "core/open_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "cait/error.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

thread_local const OpenFolder* only_below = nullptr;

// Closes the folder that it leaves, but not the first one.
class Walk {
public:
    explicit Walk(int from) : first_(from), at_(from) {}
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    ~Walk() { leave(); }

    bool enter(const fs::path& name) {
        const int next = ::openat(at_, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0) return false;
        leave();
        at_ = next;
        return true;
    }
    int open(const fs::path& name, int flags) const {
        return ::openat(at_, name.c_str(), flags | O_NOFOLLOW);
    }

private:
    void leave() const {
        if (at_ != first_) ::close(at_);
    }
    int first_, at_;
};

}  // namespace

OpenFolder::OpenFolder(fs::path path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    const std::optional<FileId> id = fd_ < 0 ? std::nullopt : file_id(path_);
    if (!id) {
        const int problem = errno;
        if (fd_ >= 0) ::close(fd_);
        throw Error(
            fmt::format("{}: cannot open the folder: {}", path_.string(), std::strerror(problem)));
    }
    id_ = *id;
}

OpenFolder::~OpenFolder() { ::close(fd_); }

int OpenFolder::open(const fs::path& file, int flags) const {
    const fs::path whole = fs::absolute(file).lexically_normal();
    // The parts that follow the folder, the last one first.
    std::vector<fs::path> parts;
    fs::path rest = whole;
    do {
        if (rest == rest.parent_path())
            throw Error(fmt::format("{}: expected a file below {}", file.string(), path_.string()));
        parts.push_back(rest.filename());
        rest = rest.parent_path();
    } while (file_id(rest) != id_);

    Walk walk(fd_);
    int fd = -1;
    while (parts.size() > 1 && walk.enter(parts.back())) parts.pop_back();
    if (parts.size() == 1) fd = walk.open(parts.front(), flags);
    if (fd >= 0) return fd;
    // What opening a link says differs: ELOOP of a file, ENOTDIR of a folder.
    if (errno == ELOOP || errno == ENOTDIR)
        throw Error(fmt::format("{}: expected a file below {} that is reached without links",
                                file.string(), path_.string()));
    throw Error(fmt::format("{}: cannot open: {}", file.string(), std::strerror(errno)));
}

ReadOnlyBelow::ReadOnlyBelow(const OpenFolder& folder)
    : before_(std::exchange(only_below, &folder)) {}
ReadOnlyBelow::~ReadOnlyBelow() { only_below = before_; }

const OpenFolder* ReadOnlyBelow::folder() noexcept { return only_below; }

}  // namespace cait
