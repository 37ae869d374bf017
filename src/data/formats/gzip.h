// Gzip unpacking with a known upper bound, so that a small file cannot claim a large memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cait {

bool is_gzip(std::span<const std::byte> bytes) noexcept;

// The first `most` unpacked bytes at most; fewer when there are fewer. Throws Error, naming `file`,
// when the data is broken or ends early. `likely` bytes are set aside at once, where the caller
// knows: growing would need half as much again.
std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::size_t most,
                              const std::string& file, std::size_t likely = 0);

// How many bytes that would be, counted up to `most` without keeping any.
std::size_t gunzipped_size(std::span<const std::byte> bytes, std::size_t most,
                           const std::string& file);

// Raw zlib data (RFC 1950), same contract.
std::vector<std::byte> inflate_zlib(std::span<const std::byte> bytes, std::size_t most,
                                    const std::string& file);

}  // namespace cait
