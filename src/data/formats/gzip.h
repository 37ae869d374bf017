// Gzip unpacking with a known upper bound, so that a small file cannot claim a large memory.
#pragma once

#include <cstddef>
#include <functional>
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

// Takes the next bytes of what is unpacked.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// Hands over all of it block by block, of each of several gzip files behind one another, and keeps
// nothing. Throws Error as gunzip() does, and for other bytes behind them.
void gunzip_blocks(std::span<const std::byte> bytes, const std::string& file, const ByteSink& sink);

// Raw zlib data (RFC 1950), same contract.
std::vector<std::byte> inflate_zlib(std::span<const std::byte> bytes, std::size_t most,
                                    const std::string& file);

}  // namespace cait
