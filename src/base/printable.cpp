#include "base/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <limits>

#include "base/utf8.h"

namespace cait {

namespace {

constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

// Of a character that utf8_length() accepted.
std::uint32_t code_of(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    std::uint32_t code = character.size() == 1 ? first : first & (0x7f >> character.size());
    for (const char c : character.substr(1))
        code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
    return code;
}

// Beyond U+0020: DEL and C1, which terminals obey as they do ESC; line and paragraph separators;
// what turns the direction of the text after it.
bool is_unseen(std::uint32_t code) {
    return (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

enum class Lines { escape, keep };

// Appends what shows the first `most` characters; returns how many bytes of the text those are.
std::size_t append(std::string& result, std::string_view text, std::size_t most, Lines lines) {
    std::size_t at = 0;
    for (std::size_t count = 0; at < text.size() && count < most; ++count) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::size_t length = utf8_length(text, at);
        const std::string_view character = text.substr(at, length);
        const bool kept = lines == Lines::keep && (byte == '\n' || byte == '\t');
        if (length == 0 || (byte < 0x20 && !kept))
            fmt::format_to(std::back_inserter(result), "\\x{:02x}", byte);
        else if (const std::uint32_t code = code_of(character); is_unseen(code))
            fmt::format_to(std::back_inserter(result), "\\u{:04x}", code);
        else
            result += character;
        at += length == 0 ? 1 : length;
    }
    return at;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
    std::string result;
    if (append(result, text, most, Lines::escape) < text.size()) result += "...";
    return result;
}

std::string printable_lines(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    append(result, text, kWhole, Lines::keep);
    return result;
}

std::string printable_message(std::string_view text) {
    std::string shown;
    const bool cut = append(shown, text, kLongestMessage + 1, Lines::keep) < text.size();
    // Escapes make a text longer: the limit is on what is shown.
    std::string result;
    if (append(result, shown, kLongestMessage, Lines::keep) == shown.size() && !cut) return shown;
    return result + fmt::format("... (cut after {} characters){}", kLongestMessage,
                                text.ends_with('\n') ? "\n" : "");
}

}  // namespace cait
