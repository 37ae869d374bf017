#include "core/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cait/error.h"

namespace cait {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const auto fail = [&](const char* action) {
        throw Error(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
    };
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("open");
    struct Closer {
        int fd;
        ~Closer() { ::close(fd); }
    } closer{fd};

    struct stat info {};
    if (::fstat(fd, &info) != 0) fail("stat");
    if (!S_ISREG(info.st_mode))
        throw Error(fmt::format("{}: expected a regular file", path.string()));
    const auto size = std::size_t(info.st_size);
    if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0));
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED) fail("map");
    return std::shared_ptr<const MappedFile>(
        new MappedFile(static_cast<const std::byte*>(memory), size));
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace cait
