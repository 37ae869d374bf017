// The one way in: whatever is read is opened here. Only regular files are: a pipe, a device or a
// folder is named at once and never waited for.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "system/file_place.h"

namespace cait {

// Which file a name leads to, through links of either kind.
struct FileId {
    std::uint64_t device = 0, inode = 0;
    auto operator<=>(const FileId&) const = default;
};

std::optional<FileId> file_id(const std::filesystem::path& path);  // nothing where no file is

std::string_view file_kind(mode_t mode);  // "a folder", "a pipe", "a device", …

class OpenFile {
public:
    // Throws Error, naming the file, when it cannot be opened, is not a regular file, or lies where
    // this thread may not read now (system/read_only_below.h).
    explicit OpenFile(const FilePlace& place);
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile();

    int descriptor() const noexcept { return fd_; }
    std::size_t size() const noexcept { return size_; }  // when it was opened
    const FileId& id() const noexcept { return id_; }

    // The next bytes, as many as fit; fewer only at the end of the file.
    std::size_t read(std::span<std::byte> buffer);

private:
    FilePlace place_;
    int fd_ = -1;
    std::size_t size_ = 0;
    FileId id_;
};

}  // namespace cait
