// JPEG through libjpeg-turbo, with the settings that give Pillow's pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "image/codec/decode.h"
#include "image/codec/jpeg_markers.h"

namespace cait {

// The caller has checked header.width * header.height. Gives 1 channel only for a grey file of
// which grey is wanted, else 3.
void decode_jpeg(Image& image, std::span<const std::byte> bytes, const JpegHeader& header,
                 const std::string& name, const DecodeOptions& options);

// What all coefficients take, which a file of several scans needs at once.
std::uint64_t coefficient_bytes(const JpegHeader& header);

}  // namespace cait
