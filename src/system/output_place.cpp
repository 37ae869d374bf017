#include "system/output_place.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "cait/error.h"
#include "system/open_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

// The number in /proc/self/fd/1, which is a link to something that need not have a name.
std::optional<int> own_descriptor(const fs::path& link) {
    std::error_code failure;
    if (!fs::equivalent(link.parent_path(), "/proc/self/fd", failure)) return std::nullopt;
    const std::string name = link.filename().string();
    int number = -1;
    const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
    return end.ec == std::errc{} && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

OutputPlace output_place(const fs::path& path) {
    OutputPlace place{.path = path};
    for (int links = 0; links <= kMostLinks; ++links) {
        struct stat info {};
        if (::lstat(place.path.c_str(), &info) != 0) {
            if (errno == ENOENT) return place;
            throw Error(fmt::format("{}: cannot write: {}", path.string(), std::strerror(errno)));
        }
        if (S_ISREG(info.st_mode)) return place;
        if (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode)) {
            place.direct = true;
            return place;
        }
        if (!S_ISLNK(info.st_mode))
            throw Error(fmt::format("{}: expected the name of a file to write, found {}",
                                    path.string(), file_kind(info.st_mode)));
        if (const auto descriptor = own_descriptor(place.path)) {
            place.direct = true;
            place.descriptor = *descriptor;
            return place;
        }
        std::error_code failure;
        const fs::path target = fs::read_symlink(place.path, failure);
        if (failure)
            throw Error(fmt::format("{}: cannot write: {}", path.string(), failure.message()));
        place.path = place.path.parent_path() / target;  // an absolute target takes its place
    }
    throw Error(fmt::format("{}: cannot write: {}", path.string(), std::strerror(ELOOP)));
}

}  // namespace cait
