// A walk over the chunks of a PNG file, so that its size is known before the decoder runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cait {

struct PngHeader {
    std::int64_t width = 0;
    std::int64_t height = 0;
    int bits = 0;
    int colour_type = 0;
    bool interlaced = false;
    int orientation = 1;

    int channels() const;  // a palette counts as 3
};

// Throws ImageError (malformed) unless the file begins with a whole IHDR chunk. Its checksum, and
// what the fields may be together, are left to the decoder.
PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name);

}  // namespace cait
