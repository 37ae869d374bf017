// Bytes as text of letters, digits, '+' and '/', padded with '=' (RFC 4648).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cait {

std::string base64(std::span<const std::byte> bytes);

// None for anything but base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace cait
