#include "system/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cait/error.h"
#include "system/file_guard.h"
#include "system/open_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporary = ".tmp.";
constexpr int kMostTemporaries = 1000;  // programs that write the same file at once

// What has this name in the folder, a link as such; nothing where nothing has.
std::optional<struct stat> named(int folder, const std::string& name) {
    struct stat info {};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    return info;
}

// A regular file of ours that still has this name, and no other: a name in a folder that others may
// write to can be anything.
bool is_ours(int fd, int folder, const std::string& name) {
    struct stat opened {};
    const auto there = named(folder, name);
    return there && ::fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) &&
           opened.st_uid == ::geteuid() && opened.st_nlink == 1 && opened.st_dev == there->st_dev &&
           opened.st_ino == there->st_ino;
}

constexpr int kCareful = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// A file that a dead program has left, locked; nothing where it is not that.
Descriptor take_over(int folder, const std::string& name) {
    Descriptor file(::openat(folder, name.c_str(), kCareful));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_ours(file.get(), folder, name) &&
        ::ftruncate(file.get(), 0) == 0)
        return file;
    return {};
}

// A new file, locked; nothing, with errno, where that cannot be. A file system without locks does
// without: such a file is never taken over.
Descriptor create_locked(int folder, const std::string& name) {
    Descriptor file(::openat(folder, name.c_str(), kCareful | O_CREAT | O_EXCL, 0600));
    if (!file) return file;
    const bool lost = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!lost && is_ours(file.get(), folder, name)) return file;
    file.reset();  // somebody thought that its writer was dead
    errno = EEXIST;
    return file;
}

bool is_temporary_name(const std::string& name) {
    const std::size_t found = name.rfind(kTemporary);
    return found != std::string::npos && found > 0 && found + kTemporary.size() < name.size() &&
           name.find_first_not_of("0123456789", found + kTemporary.size()) == std::string::npos;
}

}  // namespace

AtomicFile::AtomicFile(FilePlace place) : place_(std::move(place)) {
    if (!place_.folder()) target_ = output_place(place_.path());
    if (target_.direct) {
        open_directly();
        return;
    }
    open_folder();
    claim_temporary();
}

void AtomicFile::open_directly() {
    if (target_.descriptor >= 0) {
        file_ = Descriptor(::fcntl(target_.descriptor, F_DUPFD_CLOEXEC, 0));
        if (!file_) place_.fail("write");
        return;
    }
    // O_NONBLOCK: a pipe that nobody reads is not waited for.
    file_ = Descriptor(::open(target_.path.c_str(), kCareful));
    if (!file_ && errno == ENXIO)
        throw Error(fmt::format("{}: cannot write: nobody reads this pipe", place_.string()));
    if (!file_) place_.fail("write");
    struct stat info {};
    if (::fstat(file_.get(), &info) == 0 && (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode))) {
        ::fcntl(file_.get(), F_SETFL, 0);  // a reader may be slow
        return;
    }
    file_.reset();
    throw Error(fmt::format("{}: cannot write: it was replaced meanwhile", place_.string()));
}

void AtomicFile::open_folder() {
    constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const fs::path& path = place_.folder() ? place_.name() : target_.path;
    const fs::path above = path.has_parent_path() ? path.parent_path() : ".";
    name_ = path.filename().string();
    if (!place_.folder())
        folder_ = Descriptor(::open(above.c_str(), kFolder));
    else if (above == ".")
        folder_ = Descriptor(::fcntl(place_.folder()->descriptor(), F_DUPFD_CLOEXEC, 0));
    else
        folder_ = Descriptor(open_below(place_.folder()->descriptor(), above, kFolder));
    if (!folder_) place_.fail("create");
    if (!place_.folder()) return;
    const auto there = named(folder_.get(), name_);
    if (there && S_ISLNK(there->st_mode)) throw LinkRefused(place_.path(), "a regular file");
    if (there && !S_ISREG(there->st_mode))
        throw Error(fmt::format("{}: expected a regular file, found {}", place_.string(),
                                file_kind(there->st_mode)));
}

// New files obey the umask; a replaced file keeps the permissions that it had.
mode_t AtomicFile::mode() const {
    if (const auto there = named(folder_.get(), name_)) return there->st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

void AtomicFile::claim_temporary() {
    for (int number = 0; number < kMostTemporaries; ++number) {
        temporary_ = fmt::format("{}{}{}", name_, kTemporary, number);
        file_ = create_locked(folder_.get(), temporary_);
        if (!file_ && errno != EEXIST) place_.fail("create");
        if (!file_) file_ = take_over(folder_.get(), temporary_);
        if (!file_) continue;
        ::fchmod(file_.get(), mode());
        return;
    }
    throw Error(fmt::format("{}: cannot create: {} is taken, and so are {} names like it",
                            place_.string(), temporary_, kMostTemporaries - 1));
}

AtomicFile::~AtomicFile() {
    // Before its lock is gone.
    if (file_ && !temporary_.empty()) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EFAULT) {  // from a mapped file that is no longer there
            recheck_mapped_files();
            errno = EFAULT;
        }
        if (written < 0) place_.fail("write");
        bytes = bytes.subspan(std::size_t(written));
    }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
    recheck_mapped_files();
    if (target_.direct) {
        if (::close(file_.release()) != 0) place_.fail("write");
        return;
    }
    if (::fsync(file_.get()) != 0) place_.fail("sync");
    if (const auto there = named(folder_.get(), name_); there && !S_ISREG(there->st_mode))
        throw Error(
            fmt::format("{}: cannot replace: it is no regular file any more", place_.string()));
    if (::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0)
        place_.fail("replace");
    file_.reset();
    // The rename is durable only once the folder that holds the name is on disk too. Some file
    // systems cannot sync a folder and say so with EINVAL; that is as good as it gets.
    if (::fsync(folder_.get()) != 0 && errno != EINVAL) place_.fail("sync its folder");
}

void clear_stale_temporaries(const Folder& folder) {
    for (const std::string& name : folder.names())
        if (is_temporary_name(name) && take_over(folder.descriptor(), name))
            ::unlinkat(folder.descriptor(), name.c_str(), 0);
}

}  // namespace cait
