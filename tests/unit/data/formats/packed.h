// Text packed by gzip and by xz, for the tests of what unpacks them.
#pragma once

#include <lzma.h>
#include <zlib.h>

#include <cstdint>
#include <string>

namespace cait::data_test {

// `times` copies of the text behind one another.
inline std::string gzipped_text(std::string text, int times = 1) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string packed;
    std::string block(std::size_t{1} << 16, '\0');
    for (int i = 0; i < times; ++i) {
        stream.next_in = reinterpret_cast<Bytef*>(text.data());
        stream.avail_in = uInt(text.size());
        do {
            stream.next_out = reinterpret_cast<Bytef*>(block.data());
            stream.avail_out = uInt(block.size());
            deflate(&stream, i + 1 == times ? Z_FINISH : Z_NO_FLUSH);
            packed.append(block, 0, block.size() - stream.avail_out);
        } while (stream.avail_out == 0);
    }
    deflateEnd(&stream);
    return packed;
}

inline std::string xz_text(const std::string& text) {
    std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
    std::size_t size = 0;
    lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr,
                            reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                            reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size());
    packed.resize(size);
    return packed;
}

}  // namespace cait::data_test
