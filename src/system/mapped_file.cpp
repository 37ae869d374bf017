#include "system/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "system/open_file.h"

namespace cait {

std::shared_ptr<const MappedFile> MappedFile::open(const FilePlace& place) {
    OpenFile file(place);
    const std::shared_ptr<MappedFile> result(new MappedFile);
    const std::size_t size = file.size();
    if (size == 0) return result;
    const bool maps = size >= kSmallestMapped;
    // Pages for small files as well: what is in them starts at the same places as in a mapped one.
    void* memory =
        ::mmap(nullptr, size, maps ? PROT_READ : PROT_READ | PROT_WRITE,
               maps ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS, maps ? file.descriptor() : -1, 0);
    if (memory == MAP_FAILED)
        throw Error(fmt::format("{}: cannot map: {}", place.string(), std::strerror(errno)));
    result->bytes_ = {static_cast<std::byte*>(memory), size};
    if (maps)
        result->guard_.emplace(result->bytes_, place.path(), file.id());
    else if (file.read(result->bytes_) != size)
        throw FileChanged(fmt::format("{}: changed while it was read", place.string()));
    return result;
}

MappedFile::~MappedFile() {
    guard_.reset();
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace cait
