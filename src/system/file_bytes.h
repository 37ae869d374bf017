// A whole small file read into memory. Images are read, not mapped: mapping and unmapping thousands
// of small files a second costs more than the copy, and a file cut short meanwhile is an error here
// and would be a signal there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "system/file_place.h"

namespace cait {

inline constexpr std::size_t kLargestFile = std::size_t{1} << 28;

// Throw Error, naming the file, when it cannot be read or is larger than `most` bytes.
std::vector<std::byte> read_bytes(const FilePlace& place, std::size_t most = kLargestFile);
std::string read_text(const FilePlace& place, std::size_t most = kLargestFile);

}  // namespace cait
