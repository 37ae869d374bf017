// A small bitmap font for captions: printable ASCII, drawn for this project. Pictures with text in
// them then need no font file and look the same everywhere.
#pragma once

#include <cstddef>
#include <string_view>

namespace cait {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 8;   // seven rows above the line, one below it
inline constexpr int kGlyphAdvance = 6;  // from one character to the next
inline constexpr int kLineAdvance = 10;

inline constexpr char32_t kNoCharacter = 0xfffd;  // in place of bytes that are not UTF-8

// Whether the pixel is set; x and y are inside the glyph. What the font lacks is a box.
bool glyph_pixel(char32_t c, int x, int y);

// Takes one character off the front of UTF-8 text, which must not be empty. Names of classes come
// in all languages: a box for each character is better than several.
char32_t next_character(std::string_view& text);

}  // namespace cait
