// What must be refused, and that it is refused before it costs anything.
#include <sys/resource.h>
#include <zlib.h>

#include <chrono>
#include <vector>

#include "cait/error.h"
#include "image/encode.h"
#include "unit/image/decode_support.h"

namespace cait::test {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

std::string big_endian(std::uint32_t value, int bytes = 4) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += char(value >> (8 * i));
    return text;
}

std::string chunk(const std::string& name, const std::string& content) {
    const std::string checked = name + content;
    const auto sum =
        ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()), uInt(checked.size()));
    return big_endian(std::uint32_t(content.size())) + checked + big_endian(std::uint32_t(sum));
}

std::string deflate(const std::string& raw) {
    uLongf size = ::compressBound(uLong(raw.size()));
    std::string out(size, '\0');
    ::compress(reinterpret_cast<Bytef*>(out.data()), &size,
               reinterpret_cast<const Bytef*>(raw.data()), uLong(raw.size()));
    out.resize(size);
    return out;
}

std::string png(std::uint32_t width, std::uint32_t height, const std::string& data,
                bool interlaced = false, const std::string& before = "") {
    return "\x89PNG\r\n\x1a\n"s +
           chunk("IHDR",
                 big_endian(width) + big_endian(height) + "\x08\x00\x00\x00"s + char(interlaced)) +
           before + chunk("IDAT", data) + chunk("IEND", "");
}

// A frame header of this size and nothing that could be decoded.
std::string jpeg_header(std::uint32_t width, std::uint32_t height, int bits = 8,
                        int components = 3) {
    std::string frame = std::string(1, char(bits)) + big_endian(height, 2) + big_endian(width, 2) +
                        char(components);
    std::string scan(1, char(components));
    for (int i = 1; i <= components; ++i) {
        frame += std::string(1, char(i)) + "\x11\x00"s;
        scan += std::string(1, char(i)) + "\x00"s;
    }
    scan += "\x00\x3f\x00"s;
    return "\xff\xd8\xff\xc0"s + big_endian(std::uint32_t(frame.size() + 2), 2) + frame +
           "\xff\xda"s + big_endian(std::uint32_t(scan.size() + 2), 2) + scan + "\xff\xd9"s;
}

long peak_kilobytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

TEST(DecodeRefuses, WhatIsNoImage) {
    EXPECT_THAT(refusal_text(""),
                HasSubstr("expected a JPEG, PNG or WebP image, found an empty file"));
    EXPECT_THAT(refusal_text("hello"), HasSubstr("found bytes 68 65 6c 6c 6f"));
    EXPECT_THAT(refusal_text("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("Git LFS"));
    EXPECT_THAT(refusal_text("GIF89a.........."), HasSubstr("found bytes 47 49"));
    EXPECT_THAT(refusal_text("RIFF\x04\0\0\0WAVE"s), HasSubstr("expected a JPEG"));
    for (const char* start : {"\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "RIFF\xff\xff\xff\xffWEBP"}) {
        const auto refused = refusal(start + std::string(100, '\0'));
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->why, ImageError::Why::malformed) << refused->message;
    }
}

TEST(DecodeRefuses, TooManyPixelsBeforeDecoding) {
    const long before = peak_kilobytes();
    const auto jpeg = refusal(jpeg_header(65500, 65500));
    ASSERT_TRUE(jpeg);
    EXPECT_EQ(jpeg->why, ImageError::Why::too_large);
    EXPECT_THAT(jpeg->message, HasSubstr("expected at most 178956970 pixels, found 65500x65500"));
    const auto wide = refusal(png(0x7fffffff, 0x7fffffff, ""));
    ASSERT_TRUE(wide);
    EXPECT_EQ(wide->why, ImageError::Why::too_large);
    const auto beyond = refusal(png(0xffffffff, 0xffffffff, ""));
    ASSERT_TRUE(beyond);
    EXPECT_EQ(beyond->why, ImageError::Why::too_large);
    EXPECT_LT(peak_kilobytes() - before, 10'000);
}

TEST(DecodeRefuses, TheLimitIsExact) {
    for (const char* file : {"jpeg_48x35.jpg", "webp_lossy_low.webp"}) {
        const std::string bytes = read_file(decode_data(file));
        EXPECT_FALSE(refusal(bytes, {.limits = {48 * 35, 100}})) << file;
        const auto refused = refusal(bytes, {.limits = {48 * 35 - 1, 100}});
        ASSERT_TRUE(refused) << file;
        EXPECT_EQ(refused->why, ImageError::Why::too_large);
    }
}

// A small file may claim to be large, below the limit: then it costs what is really there.
TEST(DecodeRefuses, APromiseCostsNoMemory) {
    const long before = peak_kilobytes();
    const auto jpeg = refusal(jpeg_header(13000, 13000));
    ASSERT_TRUE(jpeg);
    EXPECT_EQ(jpeg->why, ImageError::Why::malformed);
    const auto image = refusal(png(13000, 13000, deflate(std::string(13001 * 5, '\0'))));
    ASSERT_TRUE(image);
    EXPECT_EQ(image->why, ImageError::Why::malformed);
    // The pixels would be half a gigabyte; a sanitizer's shadow of what is reserved is an eighth.
    EXPECT_LT(peak_kilobytes() - before, 150'000);
}

TEST(DecodeRefuses, ZeroSizes) {
    EXPECT_THAT(refusal_text(jpeg_header(0, 5)), HasSubstr("positive size, found 0x5"));
    EXPECT_THAT(refusal_text(png(5, 0, "")), HasSubstr("positive size, found 5x0"));
}

TEST(DecodeRefuses, OtherSamples) {
    EXPECT_THAT(refusal_text(jpeg_header(8, 8, 12)), HasSubstr("8 bits per sample, found 12"));
    EXPECT_THAT(refusal_text(jpeg_header(8, 8, 8, 2)), HasSubstr("1, 3 or 4 components, found 2"));
}

TEST(DecodeRefuses, APngThatInflatesToMuchMoreThanItsHeaderNeeds) {
    const long before = peak_kilobytes();
    const std::string bomb = [] {
        // Deflated in blocks: the raw bytes would be what this test says nobody should hold.
        z_stream stream{};
        ::deflateInit(&stream, 9);
        std::string out(2 << 20, '\0');
        std::string zeros(1 << 20, '\0');
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = uInt(out.size());
        for (int i = 0; i < 256; ++i) {
            stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
            stream.avail_in = uInt(zeros.size());
            ::deflate(&stream, i == 255 ? Z_FINISH : Z_NO_FLUSH);
        }
        out.resize(stream.total_out);
        ::deflateEnd(&stream);
        return out;
    }();
    for (const bool interlaced : {false, true}) {
        const auto start = std::chrono::steady_clock::now();
        const auto refused = refusal(png(1, 1, bomb, interlaced));
        const auto took = std::chrono::steady_clock::now() - start;
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->why, ImageError::Why::malformed);
        EXPECT_THAT(refused->message, HasSubstr("more than the 1x1 pixels"));
        // Inflating a quarter of a gigabyte takes some tenths of a second.
        EXPECT_LT(std::chrono::duration<double>(took).count(), 0.05);
    }
    EXPECT_LT(peak_kilobytes() - before, 20'000);
}

TEST(DecodeRefuses, APngWhoseDataDoesNotFitItsHeader) {
    const std::string row("\0\1\2\3", 4);
    EXPECT_EQ(refusal_text(png(3, 2, deflate(row + row))), "(decoded)");
    EXPECT_THAT(refusal_text(png(3, 2, deflate(row))), HasSubstr("malformed PNG"));
    EXPECT_THAT(refusal_text(png(3, 2, deflate(row + row + "\0"s))), HasSubstr("more than"));
    EXPECT_THAT(refusal_text(png(3, 2, deflate(row + row) + "garbage")), HasSubstr("more than"));
    EXPECT_THAT(refusal_text(png(3, 2, "")), HasSubstr("malformed PNG"));
    EXPECT_THAT(refusal_text(png(3, 2, "not deflated")), HasSubstr("malformed PNG"));
    EXPECT_THAT(refusal_text(png(3, 3, deflate(row + row), true)), HasSubstr("malformed PNG"));
    std::string damaged = png(3, 2, deflate(row + row));
    damaged[damaged.size() - 14] ^= 1;  // in the checksum of the data
    EXPECT_THAT(refusal_text(damaged), HasSubstr("CRC"));
}

TEST(DecodeRefuses, NothingForPngChunksThatPixelsDoNotNeed) {
    const std::string row("\0\1\2\3", 4);
    const std::string bomb = "Comment\0\0"s + deflate(std::string(50 << 20, '\0'));
    const long before = peak_kilobytes();
    for (const char* name : {"zTXt", "iCCP", "iTXt", "tRNS", "PLTE", "gAMA", "eXIf", "acTL"})
        EXPECT_EQ(refusal_text(png(3, 1, deflate(row), false, chunk(name, bomb))), "(decoded)")
            << name;
    EXPECT_LT(peak_kilobytes() - before, 10'000);
    EXPECT_THAT(refusal_text(png(3, 1, deflate(row), false, chunk("ABCD", ""))),
                HasSubstr("malformed PNG"));
}

TEST(DecodeRefuses, AJpegOfTooManyScans) {
    const std::string bytes = read_file(decode_data("jpeg_progressive.jpg"));
    // Its last scan, again and again before the end marker.
    const std::size_t last = bytes.rfind("\xff\xda"s);
    const std::string scan = bytes.substr(last, bytes.size() - 2 - last);
    std::string many = bytes.substr(0, bytes.size() - 2);
    for (int i = 0; i < 100; ++i) many += scan;
    many += "\xff\xd9"s;
    const auto refused = refusal(many);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->why, ImageError::Why::malformed);
    EXPECT_THAT(refused->message, HasSubstr("expected at most 100 scans"));
    EXPECT_FALSE(refusal(bytes, {.limits = {.scans = 10}}));
    EXPECT_TRUE(refusal(bytes, {.limits = {.scans = 9}}));
}

TEST(DecodeRefuses, WrongOptions) {
    const std::string bytes = read_file(decode_data("png_1x1.png"));
    EXPECT_THROW(decode_image(bytes_of(bytes), "x", {.limits = {}, .channels = 4}), UsageError);
    EXPECT_THROW(read_image("/no/such/file.jpg"), Error);
}

// Flipped bits may give other pixels or an ImageError, and nothing else.
TEST(DecodeRefuses, DamageIsNeverWorseThanAnError) {
    for (const char* file :
         {"jpeg_420.jpg", "jpeg_progressive.jpg", "jpeg_cmyk.jpg", "png_palette4_interlaced.png",
          "png_rgba16.png", "webp_lossy.webp", "webp_lossless_alpha.webp", "webp_animated.webp"}) {
        const std::string whole = read_file(decode_data(file));
        for (std::size_t at = 0; at < whole.size(); at += 3) {
            std::string damaged = whole;
            damaged[at] ^= char(1 << (at % 8));
            refusal(damaged, {.limits = {1'000'000, 100}});
        }
    }
}

}  // namespace
}  // namespace cait::test
