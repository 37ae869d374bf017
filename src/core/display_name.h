// Names of files, classes and columns as they stand in an error message: quoted, on one line and of
// bounded length. Unlike tensor names they are people's words, so UTF-8 is kept.
#pragma once

#include <string>
#include <string_view>

namespace cait {

inline std::string display_name(std::string_view text, std::size_t most = 200) {
    std::string result = "'";
    for (const char c : text.substr(0, most))
        result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return result + (text.size() > most ? "...'" : "'");
}

}  // namespace cait
