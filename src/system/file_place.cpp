#include "system/file_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace cait {

LinkRefused::LinkRefused(const std::filesystem::path& path, std::string_view expected)
    : Error(fmt::format(
          "{}: expected {}, found a symbolic link; links in this folder are not followed",
          path.string(), expected)) {}

std::optional<mode_t> FilePlace::mode() const {
    struct stat info {};
    if (!folder_) {
        if (::stat(name_.c_str(), &info) != 0) return std::nullopt;
        return info.st_mode;
    }
    const Descriptor there(open_below(folder_->descriptor(), name_, O_PATH));
    if (!there || ::fstat(there.get(), &info) != 0) return std::nullopt;
    return info.st_mode;
}

int FilePlace::open(int flags, mode_t mode) const {
    return folder_ ? open_below(folder_->descriptor(), name_, flags, mode)
                   : ::open(name_.c_str(), flags | O_CLOEXEC, mode);
}

void FilePlace::fail(const char* action) const {
    if (folder_ && errno == ELOOP) throw LinkRefused(path(), "a regular file");
    if (folder_ && errno == EXDEV)
        throw Error(
            fmt::format("{}: expected a name below {}", name_.string(), folder_->path().string()));
    throw Error(fmt::format("{}: cannot {}: {}", string(), action, std::strerror(errno)));
}

}  // namespace cait
