// A whole file mapped read-only, so that weights can be used without being copied.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace cait {

class MappedFile {
public:
    // Throws Error, naming the file, when it cannot be opened or is not a regular file.
    static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

private:
    MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}

    const std::byte* data_;
    std::size_t size_;
};

}  // namespace cait
