// Image files made byte by byte that no encoder would write: headers that promise too much, data
// that inflates to more than the header needs, endless scans.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace cait::test {

inline std::string big_endian(std::uint32_t value, int bytes = 4) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += char(value >> (8 * i));
    return text;
}

inline std::string chunk(const std::string& name, const std::string& content) {
    const std::string checked = name + content;
    const auto sum =
        ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()), uInt(checked.size()));
    return big_endian(std::uint32_t(content.size())) + checked + big_endian(std::uint32_t(sum));
}

inline std::string deflate(const std::string& raw) {
    uLongf size = ::compressBound(uLong(raw.size()));
    std::string out(size, '\0');
    ::compress(reinterpret_cast<Bytef*>(out.data()), &size,
               reinterpret_cast<const Bytef*>(raw.data()), uLong(raw.size()));
    out.resize(size);
    return out;
}

// Deflated in blocks: the raw bytes would be what a test says nobody should hold.
inline std::string deflated_zeros(int megabytes) {
    z_stream stream{};
    ::deflateInit(&stream, 9);
    std::string out((std::size_t(megabytes) << 20) / 500 + 1000, '\0');
    std::string zeros(1 << 20, '\0');
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = uInt(out.size());
    for (int i = 1; i <= megabytes; ++i) {
        stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
        stream.avail_in = uInt(zeros.size());
        ::deflate(&stream, i == megabytes ? Z_FINISH : Z_NO_FLUSH);
    }
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    return out;
}

// A WebP of one colour, up to 16384 pixels a side in some 50 bytes: codes with one symbol take no
// bits (lossless format, "simple code length code").
inline std::string solid_webp(std::uint32_t width, std::uint32_t height) {
    std::string bits;
    const auto put = [&](std::uint32_t value, int count) {  // the lowest bit first
        for (int i = 0; i < count; ++i) bits += char(value >> i & 1);
    };
    put(0x2f, 8);
    put(width - 1, 14);
    put(height - 1, 14);
    put(0, 1 + 3 + 1 + 1 + 1);  // no alpha, version 0, no transform, cache or second code
    for (const std::uint32_t symbol : {120U, 80U, 40U, 255U}) {  // green, red, blue, alpha
        put(1 | 0 << 1 | 1 << 2, 3);                             // simple, one symbol, of 8 bits
        put(symbol, 8);
    }
    put(1, 4);  // distance: simple, one symbol, 0
    std::string data(bits.size() / 8 + 8, '\0');
    for (std::size_t i = 0; i < bits.size(); ++i) data[i / 8] |= char(bits[i] << (i % 8));
    if (data.size() % 2 == 1) data += '\0';
    const auto little = [](std::size_t value) {
        std::string text = big_endian(std::uint32_t(value));
        return std::string(text.rbegin(), text.rend());
    };
    return "RIFF" + little(data.size() + 12) + "WEBPVP8L" + little(data.size()) + data;
}

// 8-bit grey; `data` is the content of IDAT.
inline std::string png(std::uint32_t width, std::uint32_t height, const std::string& data,
                       bool interlaced = false, const std::string& before = "") {
    const std::string header = big_endian(width) + big_endian(height) +
                               std::string("\x08\x00\x00\x00", 4) + char(interlaced);
    return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + before + chunk("IDAT", data) +
           chunk("IEND", "");
}

// A frame header of this size and nothing that could be decoded.
inline std::string jpeg_header(std::uint32_t width, std::uint32_t height, int bits = 8,
                               int components = 3) {
    std::string frame = std::string(1, char(bits)) + big_endian(height, 2) + big_endian(width, 2) +
                        char(components);
    std::string scan(1, char(components));
    for (int i = 1; i <= components; ++i) {
        frame += std::string(1, char(i)) + std::string("\x11\x00", 2);
        scan += std::string(1, char(i)) + std::string(1, '\0');
    }
    scan += std::string("\x00\x3f\x00", 3);
    return "\xff\xd8\xff\xc0" + big_endian(std::uint32_t(frame.size() + 2), 2) + frame +
           "\xff\xda" + big_endian(std::uint32_t(scan.size() + 2), 2) + scan + "\xff\xd9";
}

// The last scan of a progressive JPEG again and again before the end marker.
inline std::string with_more_scans(const std::string& jpeg, int more) {
    const std::size_t last = jpeg.rfind("\xff\xda");
    const std::string scan = jpeg.substr(last, jpeg.size() - 2 - last);
    std::string many = jpeg.substr(0, jpeg.size() - 2);
    for (int i = 0; i < more; ++i) many += scan;
    return many + "\xff\xd9";
}

}  // namespace cait::test
