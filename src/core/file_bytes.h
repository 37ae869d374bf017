// A whole small file read into memory. Images are read, not mapped: mapping and unmapping thousands
// of small files a second costs more than the copy, and a file cut short meanwhile is an error here
// and would be a signal there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/file_place.h"

namespace cait {

inline constexpr std::size_t kLargestFile = std::size_t{1} << 28;

// Throw Error, naming the file, when it cannot be read or is larger than `most` bytes.
std::vector<std::byte> read_bytes(const FilePlace& place, std::size_t most = kLargestFile);
// Whether `real`, a path without links, is the folder or lies in it.
bool lies_below(const std::filesystem::path& real, const std::filesystem::path& folder);

// Only where the file lies below `folder`, behind all links on the way to either. It is asked of
// the file that is open already: nobody can exchange it between the question and the reading.
std::vector<std::byte> read_bytes_below(const std::filesystem::path& folder,
                                        const std::filesystem::path& path,
                                        std::size_t most = kLargestFile);
std::string read_text(const FilePlace& place, std::size_t most = kLargestFile);

}  // namespace cait
