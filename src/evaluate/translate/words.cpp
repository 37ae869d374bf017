#include "evaluate/translate/words.h"

#include <algorithm>

#include "base/utf8.h"

namespace cait {

namespace {

constexpr char32_t kBeyondUnicode = 0x110000;

struct Character {
    char32_t code = 0;
    std::size_t length = 1;  // in bytes
};

Character character_at(std::string_view text, std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return {kBeyondUnicode + first, 1};
    if (length == 1) return {first, 1};
    char32_t code = first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i)
        code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
    return {code, length};
}

}  // namespace

std::u32string characters_of(std::string_view text) {
    std::u32string characters;
    characters.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Character one = character_at(text, at);
        characters += one.code;
        at += one.length;
    }
    return characters;
}

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

std::vector<std::string_view> split_at_space(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t begin = 0;
    const auto end_word = [&](std::size_t end) {
        if (end > begin) words.push_back(text.substr(begin, end - begin));
    };
    for (std::size_t at = 0; at < text.size();) {
        const Character one = character_at(text, at);
        if (is_space(one.code)) {
            end_word(at);
            begin = at + one.length;
        }
        at += one.length;
    }
    end_word(text.size());
    return words;
}

}  // namespace cait
