// Packed weights on disk: the next start maps them instead of packing again, and processes that run
// the same model share them. A file belongs to the instruction set that packed it; each matrix is
// known by the content of the weight that it was made of, so that other weights never get it. Every
// byte is covered by a checksum or has to be zero, and all are checked before any is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "kernels/packed_matrix.h"
#include "system/mapped_file.h"

namespace cait::engine {

std::uint64_t packed_size(const kernels::PackedView& view);  // in bytes

// A packed matrix, and the hash of its bytes as they were when they were known to be right.
struct PackedEntry {
    kernels::PackedView view;
    std::uint64_t hash = 0;

    static PackedEntry of(const kernels::PackedView& view);
};

class PackedFile {
public:
    // No file if none is ours for this processor: what does not fit is packed
    // again and replaces it. `damage` says in a few words what is wrong with one of ours that was
    // changed since it was written.
    struct Opened {
        std::shared_ptr<const PackedFile> file;
        std::string damage;
    };
    static Opened open(const std::filesystem::path& path);

    // Whether nothing is lost when it is: there is no such file, an empty one, or one of ours,
    // though perhaps damaged or for another processor.
    static bool may_replace(const std::filesystem::path& path);

    // Null when the file does not have it.
    const PackedEntry* find(const std::string& key) const;

    // Replaces the file whole or not at all.
    static void write(const std::filesystem::path& path,
                      const std::map<std::string, PackedEntry>& matrices);

private:
    void read_index(const std::string& text, std::uint64_t start);

    std::shared_ptr<const MappedFile> file_;
    std::map<std::string, PackedEntry> matrices_;
};

}  // namespace cait::engine
