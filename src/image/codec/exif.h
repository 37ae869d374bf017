// The one EXIF field that changes pixels: which way up the camera was held.
#pragma once

#include <cstddef>
#include <span>

namespace cait {

// `exif` is a TIFF structure, with or without "Exif\0\0" before it. Gives 1 to 8, and 1 (as stored)
// for anything that is missing or damaged: bad metadata is no reason to refuse good pixels.
int exif_orientation(std::span<const std::byte> exif);

}  // namespace cait
