#include "data/sources/unpack.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/sources/gzip.h"
#include "data/sources/tar_archive.h"
#include "system/atomic_file.h"
#include "system/mapped_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

bool stays_inside(const fs::path& name) {
    return !name.empty() && name.is_relative() && std::ranges::find(name, "..") == name.end();
}

bool has_size(const fs::path& path, std::size_t size) {
    std::error_code error;
    return fs::is_regular_file(path, error) && fs::file_size(path, error) == size && !error;
}

}  // namespace

std::size_t unpack_tar_gz(const fs::path& archive, const fs::path& folder, std::size_t most) {
    const auto mapping = MappedFile::open(archive);
    const std::vector<std::byte> bytes = gunzip(mapping->bytes(), most + 1, archive.string());
    if (bytes.size() > most)
        throw Error(fmt::format("{}: unpacks to more than {} bytes", archive.string(), most));
    TarReader reader(bytes, archive.string());
    TarMember member;
    std::size_t count = 0;
    for (; reader.next(member); ++count) {
        if (!stays_inside(member.name))
            throw Error(fmt::format("{}: the name {} leads out of the folder", archive.string(),
                                    display_name(member.name)));
        const fs::path target = folder / member.name;
        if (has_size(target, member.bytes.size())) continue;
        fs::create_directories(target.parent_path());
        AtomicFile file(target);
        file.write(member.bytes);
        file.commit();
    }
    return count;
}

}  // namespace cait
