// A whole file as read-only memory. Large ones are mapped, so that weights can be used without
// being copied; small ones are read, so that nobody can change them any more.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "system/file_guard.h"
#include "system/file_place.h"

namespace cait {

class MappedFile {
public:
    // Reading this much takes 0.1 ms; a mapping of it would be no faster to use.
    static constexpr std::size_t kSmallestMapped = std::size_t{1} << 20;

    // Throws Error, naming the file, when it cannot be opened or is not a regular file.
    static std::shared_ptr<const MappedFile> open(const FilePlace& place);

    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    MappedFile() = default;

    std::span<std::byte> bytes_;
    std::optional<GuardedRange> guard_;  // of a file that is mapped, not read
};

}  // namespace cait
