#include "weights/pickle_text.h"

#include <charconv>
#include <cstdint>

namespace cait {

namespace {

void append_utf8(std::string& text, std::uint32_t code) {
    constexpr std::uint32_t kReplacement = 0xfffd;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = kReplacement;
    if (code < 0x80) {
        text += char(code);
    } else if (code < 0x800) {
        text += char(0xc0 | code >> 6);
        text += char(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        text += char(0xe0 | code >> 12);
        text += char(0x80 | (code >> 6 & 0x3f));
        text += char(0x80 | (code & 0x3f));
    } else {
        text += char(0xf0 | code >> 18);
        text += char(0x80 | (code >> 12 & 0x3f));
        text += char(0x80 | (code >> 6 & 0x3f));
        text += char(0x80 | (code & 0x3f));
    }
}

// Length of the escape at the start of `text`, with its code point; 0 if there is no escape.
std::size_t read_escape(std::string_view text, std::uint32_t& code) {
    const bool is_escape = text.starts_with("\\u") || text.starts_with("\\U");
    const std::size_t digits = is_escape && text[1] == 'u' ? 4 : 8;
    if (!is_escape || text.size() < 2 + digits) return 0;
    const char* end = text.data() + 2 + digits;
    const auto result = std::from_chars(text.data() + 2, end, code, 16);
    return result.ec == std::errc{} && result.ptr == end ? 2 + digits : 0;
}

}  // namespace

std::string decode_pickle_string(std::string_view line) {
    const bool quoted = line.size() >= 2 && line.front() == line.back() &&
                        (line.front() == '\'' || line.front() == '"');
    return std::string(quoted ? line.substr(1, line.size() - 2) : line);
}

std::string decode_pickle_unicode(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size();) {
        std::uint32_t code = 0;
        if (const std::size_t length = read_escape(line.substr(i), code); length > 0) {
            append_utf8(text, code);
            i += length;
        } else {
            append_utf8(text, static_cast<unsigned char>(line[i]));
            ++i;
        }
    }
    return text;
}

}  // namespace cait
