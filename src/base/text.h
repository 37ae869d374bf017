// ASCII letters in lower case, whatever the locale: names of HTTP fields, of formats and of file
// types.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace cait {

inline char lower_case(char letter) {
    return letter >= 'A' && letter <= 'Z' ? char(letter - 'A' + 'a') : letter;
}

inline std::string lower_case(std::string_view text) {
    std::string result(text);
    for (char& letter : result) letter = lower_case(letter);
    return result;
}

// `lower` is in lower case already.
inline bool equals_ignoring_case(std::string_view text, std::string_view lower) {
    return std::ranges::equal(text, lower, {}, [](char letter) { return lower_case(letter); });
}

}  // namespace cait
