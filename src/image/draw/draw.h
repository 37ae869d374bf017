// Drawing on an image in memory: rectangles, other images and text. Whatever lies outside is
// clipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

Image filled(std::int64_t width, std::int64_t height, const Colour& colour);  // RGB

void fill_rectangle(Image& canvas, std::int64_t left, std::int64_t top, std::int64_t width,
                    std::int64_t height, const Colour& colour);

// The source may be grey on a colour canvas; on a grey canvas it has to be grey (Error).
void paste(Image& canvas, const Image& source, std::int64_t left, std::int64_t top);

enum class Scaling { nearest, smooth };  // smooth: bicubic and antialiased

Image scaled(const Image& source, std::int64_t width, std::int64_t height, Scaling scaling);

// The largest size of the same shape inside a square. Small images grow by whole numbers, so that
// their pixels stay squares; large ones shrink smoothly.
Image fitted(const Image& source, std::int64_t side);

// One line of UTF-8 with its top left corner there. `scale` enlarges the font's pixels.
void draw_text(Image& canvas, std::int64_t left, std::int64_t top, std::string_view text,
               const Colour& colour, int scale = 1);

std::int64_t text_width(std::string_view text, int scale = 1);  // in pixels
std::int64_t line_height(int scale = 1);

// The text, or its beginning and "..." when it would be wider than `width` pixels.
std::string fit_text(std::string_view text, std::int64_t width, int scale = 1);

}  // namespace cait
