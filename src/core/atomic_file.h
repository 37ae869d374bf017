// Writes a file so that a crash, a full disk or kill -9 leaves either the old or the new one whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace cait {

// Data goes to a temporary file in the same folder; commit() does fsync, rename, fsync of the
// folder. Without commit() the destructor removes the temporary and the old file stays.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);
    void commit();

private:
    std::filesystem::path path_;
    std::filesystem::path temporary_;
    int fd_ = -1;
};

}  // namespace cait
