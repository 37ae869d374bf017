// Where a character of UTF-8 text ends. Texts from files and command lines may be any bytes, so
// everybody who walks over one asks here.
#pragma once

#include <cstddef>
#include <string_view>

namespace cait {

// Length in bytes of the character that starts at `at`; 0 when none does. Too long forms,
// surrogates and what lies beyond Unicode are none.
std::size_t utf8_length(std::string_view text, std::size_t at);

// What JSON, TOML and the headers of files can hold.
bool is_utf8(std::string_view text);

}  // namespace cait
