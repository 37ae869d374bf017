// PNG through libpng, pushed: that way libpng stops inflating where the image is complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "image/codec/decode.h"
#include "image/codec/png_chunks.h"

namespace cait {

// The caller has checked header.width * header.height. Gives 1 channel only for a grey file of
// which grey is wanted, else 3.
void decode_png(Image& image, std::span<const std::byte> bytes, const PngHeader& header,
                const std::string& name, const DecodeOptions& options);

// The numbers as they are stored, one for each pixel: grey values, or places in the palette. Throws
// ImageError (malformed) for colours, alpha and 16 bits, where there is no such number.
void decode_png_indices(Image& image, std::span<const std::byte> bytes, const PngHeader& header,
                        const std::string& name, const DecodeOptions& options);

}  // namespace cait
