#include "system/open_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cait/error.h"
#include "system/read_only_below.h"

namespace cait {

std::optional<FileId> file_id(const std::filesystem::path& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    return FileId{std::uint64_t(info.st_dev), std::uint64_t(info.st_ino)};
}

std::string_view file_kind(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFREG: return "a file";
        case S_IFDIR: return "a folder";
        case S_IFIFO: return "a pipe";
        case S_IFSOCK: return "a socket";
        case S_IFLNK: return "a symbolic link";
        default: return "a device";
    }
}

OpenFile::OpenFile(const FilePlace& place) : place_(ReadOnlyBelow::within(place)) {
    // O_NONBLOCK: opening a pipe must not wait for a writer; it means nothing to a regular file.
    fd_ = place_.open(O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd_ < 0) place_.fail("open");
    struct stat info {};
    const bool known = ::fstat(fd_, &info) == 0;
    if (known && S_ISREG(info.st_mode)) {
        size_ = std::size_t(info.st_size);
        id_ = {std::uint64_t(info.st_dev), std::uint64_t(info.st_ino)};
        return;
    }
    const int error = errno;
    ::close(fd_);
    errno = error;
    if (!known) place_.fail("examine");
    throw Error(fmt::format("{}: expected a regular file, found {}", place_.string(),
                            file_kind(info.st_mode)));
}

OpenFile::~OpenFile() { ::close(fd_); }

std::size_t OpenFile::read(std::span<std::byte> buffer) {
    std::size_t filled = 0;
    while (filled < buffer.size()) {
        const ssize_t count = ::read(fd_, buffer.data() + filled, buffer.size() - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) place_.fail("read");
        if (count == 0) break;
        filled += std::size_t(count);
    }
    return filled;
}

}  // namespace cait
