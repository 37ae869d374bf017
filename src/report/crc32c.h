// CRC-32C (Castagnoli), the checksum of TensorBoard's event files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cait {

std::uint32_t crc32c(std::span<const std::byte> bytes);

// As TFRecord files store it: rotated and shifted by a constant, so that the checksum of bytes that
// contain checksums still means something.
std::uint32_t masked_crc32c(std::span<const std::byte> bytes);

}  // namespace cait
