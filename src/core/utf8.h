// Whether text is UTF-8: what JSON, TOML and the headers of files can hold.
#pragma once

#include <cstddef>
#include <string_view>

namespace cait {

// Length of the character that starts at `at`, which is inside; 0 when none does. Too long forms,
// surrogates and what lies beyond Unicode are none.
std::size_t utf8_character_at(std::string_view text, std::size_t at) noexcept;

bool is_utf8(std::string_view text) noexcept;

}  // namespace cait
