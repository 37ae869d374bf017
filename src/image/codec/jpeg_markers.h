// A walk over the markers of a JPEG file, so that its size and its number of scans are known before
// the decoder sees a byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cait {

struct JpegHeader {
    std::int64_t width = 0;
    std::int64_t height = 0;
    int components = 0;
    int bits = 0;
    int orientation = 1;
    bool huffman = true;         // rather than arithmetic coding
    std::int64_t blocks = 0;     // of 8x8 samples, over all components
    bool one_scan = false;       // sequential, and the first scan holds every component
    std::size_t first_scan = 0;  // offset of what follows the first SOS marker
};

// Throws ImageError (malformed) when the file ends, or is seen to be broken, before its first scan.
JpegHeader read_jpeg_header(std::span<const std::byte> bytes, const std::string& name);

// Number of scans, counted up to most + 1.
int count_jpeg_scans(std::span<const std::byte> bytes, const JpegHeader& header, int most);

// Throws ImageError: "NAME: malformed JPEG: WHAT".
[[noreturn]] void malformed_jpeg(const std::string& name, std::string_view what);

}  // namespace cait
