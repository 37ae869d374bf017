#include "core/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "cait/error.h"

namespace cait {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* action) {
    throw Error(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
}

// The rename is durable only once the folder that holds the name is on disk too.
void sync_folder(const std::filesystem::path& file) {
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) fail(folder, "open folder");
    const int result = ::fsync(fd);
    const int error = errno;
    ::close(fd);
    errno = error;
    // Some file systems cannot sync a folder and say so with EINVAL; that is as good as it gets.
    if (result != 0 && errno != EINVAL) fail(folder, "sync folder");
}

// New files obey the umask; a replaced file keeps the permissions that it had.
mode_t mode_for(const std::filesystem::path& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) return info.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
    std::string name = path_.string() + ".tmp.XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) fail(path_, "create");
    temporary_ = name;
    ::fchmod(fd_, mode_for(path_));
}

AtomicFile::~AtomicFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(path_, "write");
        bytes = bytes.subspan(std::size_t(written));
    }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
    if (::fsync(fd_) != 0) fail(path_, "sync");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "replace");
    ::close(std::exchange(fd_, -1));
    sync_folder(path_);
}

}  // namespace cait
