#include "system/growing_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "system/open_file.h"

namespace cait {

namespace {

constexpr mode_t kMode = 0666;  // the umask takes away from it
// O_NONBLOCK: a pipe of that name must not be waited for.
constexpr int kGrow = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY;

}  // namespace

GrowingFile::GrowingFile(FilePlace place)
    : place_(std::move(place)), file_(place_.open(kGrow, kMode)) {
    const int reason = errno;
    struct stat info {};
    const bool known = file_ && ::fstat(file_.get(), &info) == 0;
    const mode_t found = known ? info.st_mode : place_.mode().value_or(S_IFREG);
    if (!S_ISREG(found) && !S_ISLNK(found))
        throw Error(fmt::format("{}: expected a regular file, found {}", place_.string(),
                                file_kind(found)));
    errno = reason;
    if (!file_) place_.fail("open for writing");
}

std::optional<GrowingFile> GrowingFile::create(const FilePlace& place) {
    Descriptor file(place.open(kGrow | O_EXCL, kMode));
    if (!file && errno == EEXIST) return std::nullopt;
    if (!file) place.fail("create");
    return GrowingFile(place, std::move(file));
}

void GrowingFile::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file_.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) place_.fail("write");
        text.remove_prefix(std::size_t(written));
    }
}

}  // namespace cait
