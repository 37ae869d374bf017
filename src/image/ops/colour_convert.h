// The colour conversions of Pillow, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "image/image.h"

namespace cait {

// ITU-R 601: 0.299 R + 0.587 G + 0.114 B in 16-bit fixed point. In place: 3 channels become 1.
void to_grey(Image& image);

// `count` pixels of 4 bytes to 3. `inverted` is CMYK as Adobe stores it: 255 means no ink.
void inverted_cmyk_to_rgb(const std::uint8_t* inverted, std::uint8_t* rgb, std::size_t count);

}  // namespace cait
