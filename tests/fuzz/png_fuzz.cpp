// Any bytes may be refused with cait::Error; everything else that escapes is a finding.
#include <zlib.h>

#include <cstring>
#include <vector>

#include "decode_any.h"
#include "image/codec/byte_order.h"

namespace {

// With the checksum of every chunk made right: otherwise nearly every mutation would be refused for
// its checksum and nothing behind that would ever be tried.
std::vector<std::uint8_t> with_checksums(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> mended(data, data + size);
    const auto bytes = std::as_bytes(std::span(mended));
    for (std::size_t at = 8; at + 12 <= size;) {
        const std::size_t length = *cait::read_unsigned(bytes, at, 4);
        if (length > size - at - 12) break;
        const auto sum = ::crc32(0, mended.data() + at + 4, uInt(length + 4));
        for (std::size_t i = 0; i < 4; ++i)
            mended[at + 8 + length + i] = std::uint8_t(sum >> (24 - 8 * i));
        at += length + 12;
    }
    return mended;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::uint8_t> mended = with_checksums(data, size);
    cait::decode_any(mended.data(), mended.size(), cait::ImageFormat::png);
    return 0;
}
