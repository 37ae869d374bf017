#include "core/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
};

template <class Buffer>
Buffer read_whole(const std::filesystem::path& path, std::size_t most) {
    const auto fail = [&](const char* action) {
        throw Error(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
    };
    // O_NONBLOCK: opening a pipe must not wait for a writer; it means nothing to a regular file.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) fail("open");
    const Closer closer{fd};
    struct stat info {};
    if (::fstat(fd, &info) != 0) fail("stat");
    if (!S_ISREG(info.st_mode))
        throw Error(fmt::format("{}: expected a regular file", path.string()));
    if (std::size_t(info.st_size) > most)
        throw Error(fmt::format("{}: expected at most {} bytes, found {}", path.string(), most,
                                info.st_size));
    Buffer buffer(std::size_t(info.st_size), typename Buffer::value_type{});
    std::size_t filled = 0;
    while (filled < buffer.size()) {
        const ssize_t count = ::read(fd, buffer.data() + filled, buffer.size() - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail("read");
        if (count == 0) break;  // shortened while we read: the decoder will say what is missing
        filled += std::size_t(count);
    }
    buffer.resize(filled);
    return buffer;
}

}  // namespace

std::vector<std::byte> read_bytes(const std::filesystem::path& path, std::size_t most) {
    return read_whole<std::vector<std::byte>>(path, most);
}

std::string read_text(const std::filesystem::path& path, std::size_t most) {
    return read_whole<std::string>(path, most);
}

}  // namespace cait
