// Unpacks a downloaded .tar.gz of a few hundred megabytes, as which some data sets are published.
#pragma once

#include <cstddef>
#include <filesystem>

namespace cait {

// Each file appears whole or not at all; one that is there with the right size is left alone.
// Throws Error for a broken archive, one that unpacks to more than `most` bytes, or a name that
// leads out of the folder. Returns how many files the archive holds.
std::size_t unpack_tar_gz(const std::filesystem::path& archive, const std::filesystem::path& folder,
                          std::size_t most = std::size_t{1} << 28);

}  // namespace cait
