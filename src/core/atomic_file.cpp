#include "core/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "cait/error.h"
#include "core/file_guard.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporary = ".tmp.";
constexpr int kMostTemporaries = 1000;  // programs that write the same file at once

[[noreturn]] void fail(const fs::path& path, const char* action) {
    throw Error(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
}

// The rename is durable only once the folder that holds the name is on disk too.
void sync_folder(const fs::path& file) {
    const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
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
mode_t mode_for(const fs::path& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) return info.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

// A regular file of ours that still has this name, and no other: a name in a folder that others may
// write to can be anything.
bool is_ours(int fd, const fs::path& name) {
    struct stat opened {
    }, named{};
    return ::fstat(fd, &opened) == 0 && ::lstat(name.c_str(), &named) == 0 &&
           S_ISREG(opened.st_mode) && opened.st_uid == ::geteuid() && opened.st_nlink == 1 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

constexpr int kCareful = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// A file that a dead program has left, locked; -1 where it is not that.
int take_over(const fs::path& name) {
    const int fd = ::open(name.c_str(), kCareful);
    if (fd < 0) return -1;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_ours(fd, name) && ::ftruncate(fd, 0) == 0)
        return fd;
    ::close(fd);
    return -1;
}

// A new file, locked; -1 with errno where that cannot be. A file system without locks does without:
// such a file is never taken over.
int create_locked(const fs::path& name) {
    const int fd = ::open(name.c_str(), kCareful | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return -1;
    const bool lost = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!lost && is_ours(fd, name)) return fd;
    ::close(fd);  // somebody thought that its writer was dead
    errno = EEXIST;
    return -1;
}

bool is_temporary_name(const std::string& name) {
    const std::size_t found = name.rfind(kTemporary);
    return found != std::string::npos && found > 0 && found + kTemporary.size() < name.size() &&
           name.find_first_not_of("0123456789", found + kTemporary.size()) == std::string::npos;
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), place_(output_place(path_)) {
    if (place_.direct)
        open_directly();
    else
        claim_temporary();
}

void AtomicFile::open_directly() {
    if (place_.descriptor >= 0) {
        fd_ = ::fcntl(place_.descriptor, F_DUPFD_CLOEXEC, 0);
        if (fd_ < 0) fail(path_, "write");
        return;
    }
    // O_NONBLOCK: a pipe that nobody reads is not waited for.
    fd_ = ::open(place_.path.c_str(), kCareful);
    if (fd_ < 0 && errno == ENXIO)
        throw Error(fmt::format("{}: cannot write: nobody reads this pipe", path_.string()));
    if (fd_ < 0) fail(path_, "write");
    struct stat info {};
    if (::fstat(fd_, &info) == 0 && (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode))) {
        ::fcntl(fd_, F_SETFL, 0);  // a reader may be slow
        return;
    }
    ::close(std::exchange(fd_, -1));
    throw Error(fmt::format("{}: cannot write: it was replaced meanwhile", path_.string()));
}

void AtomicFile::claim_temporary() {
    for (int number = 0; number < kMostTemporaries; ++number) {
        temporary_ = fmt::format("{}{}{}", place_.path.string(), kTemporary, number);
        fd_ = create_locked(temporary_);
        if (fd_ < 0 && errno != EEXIST) fail(path_, "create");
        if (fd_ < 0) fd_ = take_over(temporary_);
        if (fd_ < 0) continue;
        ::fchmod(fd_, mode_for(place_.path));
        return;
    }
    throw Error(fmt::format("{}: cannot create: {} is taken, and so are {} names like it",
                            path_.string(), temporary_.string(), kMostTemporaries - 1));
}

AtomicFile::~AtomicFile() {
    if (fd_ < 0) return;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());  // before its lock is gone
    ::close(fd_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EFAULT) {  // from a mapped file that is no longer there
            recheck_mapped_files();
            errno = EFAULT;
        }
        if (written < 0) fail(path_, "write");
        bytes = bytes.subspan(std::size_t(written));
    }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
    recheck_mapped_files();
    if (place_.direct) {
        if (::close(std::exchange(fd_, -1)) != 0) fail(path_, "write");
        return;
    }
    if (::fsync(fd_) != 0) fail(path_, "sync");
    struct stat info {};
    if (::lstat(place_.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
        throw Error(
            fmt::format("{}: cannot replace: it is no regular file any more", path_.string()));
    if (::rename(temporary_.c_str(), place_.path.c_str()) != 0) fail(path_, "replace");
    ::close(std::exchange(fd_, -1));
    sync_folder(place_.path);
}

void clear_stale_temporaries(const fs::path& folder) {
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
         entry.increment(failure)) {
        if (!is_temporary_name(entry->path().filename().string())) continue;
        const int fd = take_over(entry->path());
        if (fd < 0) continue;
        ::unlink(entry->path().c_str());
        ::close(fd);
    }
}

}  // namespace cait
