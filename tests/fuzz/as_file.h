// Bytes as a file without a disk, for readers that open files themselves.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace cait {

class AsFile {
public:
    AsFile(const std::uint8_t* data, std::size_t size) : fd_(::memfd_create("input", 0)) {
        if (fd_ < 0 || ::write(fd_, data, size) != ssize_t(size)) std::abort();
    }
    AsFile(const AsFile&) = delete;
    AsFile& operator=(const AsFile&) = delete;
    ~AsFile() { ::close(fd_); }

    std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
    int fd_;
};

}  // namespace cait
