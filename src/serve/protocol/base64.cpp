#include "serve/protocol/base64.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "serve/http/message.h"

namespace cait::serve {

namespace {

constexpr std::array<std::int8_t, 256> make_digits() {
    std::array<std::int8_t, 256> digits{};
    digits.fill(-1);
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < kDigits.size(); ++i)
        digits[static_cast<unsigned char>(kDigits[i])] = std::int8_t(i);
    return digits;
}
constexpr std::array<std::int8_t, 256> kDigitOf = make_digits();

}  // namespace

std::string base64_decoded(std::string_view text, std::string_view what) {
    const auto refuse = [&] {
        throw HttpError(400, fmt::format("{}: expected base64, found something else", what));
    };
    if (text.size() % 4 != 0) refuse();
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
        ++padding;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool padded = i >= text.size() - padding;
        const int digit = padded ? 0 : kDigitOf[static_cast<unsigned char>(text[i])];
        if (digit < 0) refuse();
        group = group << 6 | std::uint32_t(digit);
        if (i % 4 != 3) continue;
        for (const int shift : {16, 8, 0}) bytes += char(group >> shift & 0xff);
        group = 0;
    }
    bytes.resize(bytes.size() - padding);
    return bytes;
}

}  // namespace cait::serve
