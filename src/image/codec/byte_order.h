// What stands at a checked place in untrusted bytes: unsigned integers of either byte order (JPEG
// and PNG are big-endian, EXIF is both), and the words a format begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

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

inline bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
    return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

}  // namespace cait
