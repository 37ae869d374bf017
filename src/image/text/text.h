// Lines of text in pictures: measured, shortened, wrapped and drawn. Texts are UTF-8; what is not
// is shown as U+FFFD, and what the typeface lacks as a box.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "image/image.h"
#include "image/ops/crop.h"
#include "image/text/typeface.h"

namespace cait {

std::int64_t text_width(std::string_view text, const Font& font);  // in pixels, rounded up
std::int64_t ascent(const Font& font);       // from the top of a line to its base line
std::int64_t line_height(const Font& font);  // from one line to the next

// One line with its top left corner there; what lies outside the canvas is clipped.
void draw_text(Image& canvas, std::int64_t left, std::int64_t top, std::string_view text,
               const Colour& colour, const Font& font);

// The text, or its two ends around "…" when it would be wider than `width` pixels: of a file's name
// both tell it apart.
std::string fit_text(std::string_view text, std::int64_t width, const Font& font);

// The text in lines of at most `width` pixels, broken at spaces. Words that are too long are
// shortened, and so is the last of `most` lines.
std::vector<std::string> wrap_text(std::string_view text, std::int64_t width, const Font& font,
                                   std::size_t most);

}  // namespace cait
