#include "fetch/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "cait/error.h"
#include "fetch/http_request.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

// The file that grows. Locked, because two programs that append to it would spoil it.
class PartFile {
public:
    explicit PartFile(fs::path path) : path_(std::move(path)) {
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd_ < 0) fail("create");
        if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
            ::close(fd_);
            throw Error(fmt::format("{}: another download is writing it", path_.string()));
        }
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
    if (!expected.checksum) return std::nullopt;
    const auto& [kind, hex] = *expected.checksum;
    const std::string found = file_digest(path, kind);
    if (found == hex) return std::nullopt;
    return fmt::format("{}: expected {}, found {}", name_of(kind), hex, found);
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
            if (part_.size() > before) {
                failures = 0;
                pause = options_.pause;
            }
            const bool again = result.outcome == HttpOutcome::interrupted;
            if (!again || ++failures > options_.retries)
                throw Error(fmt::format("{}: {}", address_, result.message));
            std::this_thread::sleep_for(pause);
            pause *= 2;
        }
    }

private:
    HttpResult request() {
        HttpRequest request{address_, part_.size(), options_.stall, {}, {}};
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
        throw Error(fmt::format("{}: expected {} bytes, found {}{}", address_, *expected_.size,
                                found > *expected_.size ? "at least " : "", found));
    }

    std::string address_;
    const ExpectedFile& expected_;
    const DownloadOptions& options_;
    PartFile& part_;
    std::uint64_t total_ = 0;
};

}  // namespace

Downloaded download(const std::string& address, const ExpectedFile& expected,
                    const fs::path& target, const DownloadOptions& options) {
    if (fs::exists(target) && !fault(target, expected)) return Downloaded::present;
    PartFile part(target.string() + ".part");
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
            throw Error(fmt::format("{}: {}", address, *wrong));
        }
        part.restart();
    }
}

}  // namespace cait
