#include "system/file_bytes.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "system/memory_budget.h"
#include "system/open_file.h"

namespace cait {

namespace {

template <class Buffer>
Buffer read_whole(OpenFile& file, const std::filesystem::path& path, std::size_t most) {
    if (file.size() > most)
        throw Error(fmt::format("{}: expected at most {} bytes, found {}", path.string(), most,
                                file.size()));
    // Of a sparse file the disk may hold nothing at all.
    const MemoryShare memory = MemoryBudget::of_process().reserve(file.size(), path.string());
    Buffer buffer(file.size(), typename Buffer::value_type{});
    // Fewer when it was shortened meanwhile: the parser will say what is missing.
    buffer.resize(file.read(std::as_writable_bytes(std::span(buffer))));
    return buffer;
}

}  // namespace

std::vector<std::byte> read_bytes(const FilePlace& place, std::size_t most) {
    OpenFile file(place);
    return read_whole<std::vector<std::byte>>(file, place.path(), most);
}

std::string read_text(const FilePlace& place, std::size_t most) {
    OpenFile file(place);
    return read_whole<std::string>(file, place.path(), most);
}

}  // namespace cait
