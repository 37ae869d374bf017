// Characters and words as the public measures of translations see them: Python's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cait {

// Of UTF-8; a byte that belongs to no character counts as one of its own, beyond Unicode.
std::u32string characters_of(std::string_view text);

// What str.split() splits at, no-break spaces included.
bool is_space(char32_t character);

// What stands between spaces; none of them is empty.
std::vector<std::string_view> split_at_space(std::string_view text);

}  // namespace cait
