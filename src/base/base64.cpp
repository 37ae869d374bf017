#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cait {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_digits() {
    std::array<std::int8_t, 256> digits{};
    digits.fill(-1);
    for (std::size_t i = 0; i < kDigits.size(); ++i)
        digits[static_cast<unsigned char>(kDigits[i])] = std::int8_t(i);
    return digits;
}
constexpr std::array<std::int8_t, 256> kDigitOf = make_digits();

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
    std::string result;
    result.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t present = std::min<std::size_t>(bytes.size() - i, 3);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8 | (k < present ? std::uint32_t(bytes[i + k]) : 0);
        for (std::size_t k = 0; k < 4; ++k)
            result += k <= present ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
    return result;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
        ++padding;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool padded = i >= text.size() - padding;
        const int digit = padded ? 0 : kDigitOf[static_cast<unsigned char>(text[i])];
        if (digit < 0) return std::nullopt;
        group = group << 6 | std::uint32_t(digit);
        if (i % 4 != 3) continue;
        for (const int shift : {16, 8, 0}) bytes += char(group >> shift & 0xff);
        group = 0;
    }
    bytes.resize(bytes.size() - padding);
    return bytes;
}

}  // namespace cait
