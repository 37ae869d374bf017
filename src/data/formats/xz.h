// Unpacks .xz files block by block.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/formats/gzip.h"

namespace cait {

bool is_xz(std::span<const std::byte> bytes) noexcept;

// Hands over all of it block by block and keeps nothing. Throws Error, naming `file`, when the data
// is broken, ends early, or asks for more memory than `xz -9` does.
void unxz_blocks(std::span<const std::byte> bytes, const std::string& file, const ByteSink& sink);

}  // namespace cait
