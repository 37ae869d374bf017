// Mirroring from left to right.
#pragma once

#include <cstdint>

#include "image/image.h"

namespace cait {

// One row of `width` pixels; source and output do not overlap.
void mirror_row(const std::uint8_t* source, std::int64_t width, std::int64_t channels,
                std::uint8_t* output);

void flip_horizontally(Image& image);

}  // namespace cait
