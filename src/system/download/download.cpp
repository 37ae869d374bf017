#include "system/download/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "cait/error.h"
#include "system/download/http_request.h"
#include "system/open_file.h"
#include "system/output_place.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

// The file that grows. Locked, because two programs that append to it would spoil it.
class PartFile {
public:
    PartFile(fs::path path, bool wait) : path_(std::move(path)) {
        do open_locked(wait);
        while (!has_its_name());
        const off_t end = ::lseek(fd_, 0, SEEK_END);
        if (end < 0) fail("seek");
        size_ = std::uint64_t(end);
    }
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;
    ~PartFile() {
        if (size_ == 0) discard();
        ::close(fd_);
    }

    const fs::path& path() const { return path_; }
    std::uint64_t size() const { return size_; }

    void restart() {
        if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) != 0) fail("empty");
        size_ = 0;
    }

    void append(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail("write");
            size_ += std::uint64_t(written);
            bytes = bytes.subspan(std::size_t(written));
        }
    }

    // Not the folder: should the name be lost with the power, the next run fetches the file again.
    void become(const fs::path& target) {
        if (::fsync(fd_) != 0) fail("sync");
        if (::rename(path_.c_str(), target.c_str()) != 0) fail("rename");
    }

    void discard() { ::unlink(path_.c_str()); }

private:
    void open_locked(bool wait) {
        if (fd_ >= 0) ::close(fd_);
        // In a folder that others may write to, the name may be a link or a pipe that somebody put
        // there.
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (fd_ < 0 && errno == ELOOP) refuse(S_IFLNK);
        if (fd_ < 0) fail("create");
        struct stat info {};
        if (::fstat(fd_, &info) != 0) fail("examine");
        if (!S_ISREG(info.st_mode)) refuse(info.st_mode);
        if (::flock(fd_, wait ? LOCK_EX : LOCK_EX | LOCK_NB) == 0) return;
        ::close(fd_);
        throw Error(fmt::format("{}: another download is writing it", path_.string()));
    }

    // Not when the program that held the lock has renamed or removed the file meanwhile.
    bool has_its_name() const {
        struct stat ours {
        }, named{};
        if (::fstat(fd_, &ours) != 0) fail("examine");
        return ::lstat(path_.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
               ours.st_ino == named.st_ino;
    }

    [[noreturn]] void refuse(mode_t mode) const {
        throw Error(
            fmt::format("{}: expected a regular file, found {}", path_.string(), file_kind(mode)));
    }

    [[noreturn]] void fail(const char* action) const {
        throw Error(fmt::format("{}: cannot {}: {}", path_.string(), action, std::strerror(errno)));
    }

    fs::path path_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
};

// What is wrong with a file, if anything.
std::optional<std::string> fault(const fs::path& path, const ExpectedFile& expected) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error) return fmt::format("cannot read: {}", error.message());
    if (expected.size && size != *expected.size)
        return fmt::format("expected {} bytes, found {}", *expected.size, size);
    if (expected.checksum) {
        const auto& [kind, hex] = *expected.checksum;
        const std::string found = file_digest(path, kind);
        if (!found.starts_with(hex))
            return fmt::format("{}: expected {}, found {}", name_of(kind), hex, found);
    }
    try {
        if (expected.check) expected.check(path);
        return std::nullopt;
    } catch (const Error& wrong) {
        return wrong.what();
    }
}

bool is_there(const fs::path& path, const ExpectedFile& expected) {
    return fs::exists(path) && !fault(path, expected);
}

class Download {
public:
    Download(std::string address, const ExpectedFile& expected, const DownloadOptions& options,
             PartFile& part)
        : address_(std::move(address)), expected_(expected), options_(options), part_(part) {
        if (expected_.size && part_.size() > *expected_.size) part_.restart();
    }

    bool enough() const { return expected_.size && part_.size() == *expected_.size; }

    // Until the server has sent all of it.
    void run() {
        auto pause = options_.pause;
        int failures = 0;
        while (!enough()) {
            const std::uint64_t before = part_.size();
            const HttpResult result = request();
            if (result.outcome == HttpOutcome::complete) return check_length();
            if (result.outcome == HttpOutcome::nothing_there && before > 0) {
                part_.restart();  // what we have is longer than what the server has
                if (++failures <= options_.retries) continue;
            }
            const bool slow = result.outcome == HttpOutcome::too_slow;
            if (part_.size() > before && !slow) {
                failures = 0;
                pause = options_.pause;
            }
            const bool again = slow || result.outcome == HttpOutcome::interrupted;
            if (!again || ++failures > options_.retries)
                throw Unreachable(
                    fmt::format("{}: {}", without_credentials(address_), result.message));
            std::this_thread::sleep_for(pause);
            pause *= 2;
        }
    }

private:
    HttpResult request() {
        HttpRequest request{address_, part_.size(), options_.slowest, options_.stall, {}, {}};
        request.begin = [this](std::uint64_t start, std::uint64_t total) {
            total_ = expected_.size.value_or(total);
            if (expected_.size && total > 0 && total != *expected_.size) wrong_length(total);
            if (start == 0 && part_.size() > 0) part_.restart();
        };
        request.receive = [this](std::span<const std::byte> bytes) {
            if (expected_.size && part_.size() + bytes.size() > *expected_.size)
                wrong_length(part_.size() + bytes.size());
            part_.append(bytes);
            if (options_.progress) options_.progress(part_.size(), total_);
        };
        return perform(request);
    }

    void check_length() const {
        if (expected_.size && !enough()) wrong_length(part_.size());
    }

    [[noreturn]] void wrong_length(std::uint64_t found) const {
        throw Error(fmt::format("{}: expected {} bytes, found {}{}", without_credentials(address_),
                                *expected_.size, found > *expected_.size ? "at least " : "",
                                found));
    }

    std::string address_;
    const ExpectedFile& expected_;
    const DownloadOptions& options_;
    PartFile& part_;
    std::uint64_t total_ = 0;
};

// The file behind links, which is what is fetched again.
fs::path place_of(const fs::path& name) {
    OutputPlace place = output_place(name);
    if (place.direct)
        throw Error(fmt::format(
            "{}: expected the name of a file to write, found a device or a pipe", name.string()));
    return std::move(place.path);
}

OpenFile open_source(const fs::path& source) {
    try {
        return OpenFile(source);
    } catch (const Error& failure) {
        throw Unreachable(failure.what());
    }
}

}  // namespace

std::string_view text_of(Downloaded outcome) {
    switch (outcome) {
        case Downloaded::fetched: return "fetched";
        case Downloaded::resumed: return "resumed";
        case Downloaded::present: return "already there";
    }
    return "";
}

Downloaded download(const std::string& address, const ExpectedFile& expected, const fs::path& name,
                    const DownloadOptions& options) {
    if (is_there(name, expected)) return Downloaded::present;
    const fs::path target = place_of(name);
    PartFile part(target.string() + ".part", options.wait);
    if (options.wait && is_there(target, expected)) return Downloaded::present;
    // A second time when the beginning is from an earlier run: it may be that of another file.
    for (bool old_part = part.size() > 0;; old_part = false) {
        Download(address, expected, options, part).run();
        const auto wrong = fault(part.path(), expected);
        if (!wrong) {
            part.become(target);
            return old_part ? Downloaded::resumed : Downloaded::fetched;
        }
        if (!old_part) {
            part.discard();
            throw Error(fmt::format("{}: {}", without_credentials(address), *wrong));
        }
        part.restart();
    }
}

Downloaded copy_in(const fs::path& source, const ExpectedFile& expected, const fs::path& name,
                   const DownloadOptions& options) {
    if (is_there(name, expected)) return Downloaded::present;
    const fs::path target = place_of(name);
    OpenFile from = open_source(source);
    PartFile part(target.string() + ".part", options.wait);
    part.restart();
    std::vector<std::byte> buffer(std::size_t{1} << 20);
    while (const std::size_t count = from.read(buffer)) {
        part.append(std::span(buffer).first(count));
        if (options.progress) options.progress(part.size(), from.size());
    }
    if (const auto wrong = fault(part.path(), expected)) {
        part.discard();
        throw Error(fmt::format("{}: {}", source.string(), *wrong));
    }
    part.become(target);
    return Downloaded::fetched;
}

}  // namespace cait
