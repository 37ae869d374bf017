// Unsigned integers of either byte order at a checked place in untrusted bytes: JPEG and PNG are
// big-endian, EXIF is both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cait {

enum class ByteOrder { big, little };

// Empty when fewer than `count` bytes (at most 4) are left at `at`.
inline std::optional<std::uint32_t> read_unsigned(std::span<const std::byte> bytes, std::size_t at,
                                                  std::size_t count,
                                                  ByteOrder order = ByteOrder::big) {
    if (at > bytes.size() || bytes.size() - at < count) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = order == ByteOrder::big ? i : count - 1 - i;
        value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + place]);
    }
    return value;
}

}  // namespace cait
