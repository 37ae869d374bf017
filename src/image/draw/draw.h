// Drawing on an image in memory: rectangles and other images. Whatever lies outside is clipped.
#pragma once

#include <cstdint>

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

}  // namespace cait
