// What must be refused, and that it is refused before it costs anything.
#include <sys/resource.h>

#include <chrono>
#include <vector>

#include "cait/error.h"
#include "image/codec/encode.h"
#include "support/broken_images.h"
#include "unit/image/codec/decode_support.h"

namespace cait::test {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

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
    EXPECT_THAT(refusal_text("RIFF\x04\0\0\0WAVE"s), HasSubstr("expected a JPEG"));
    for (const char* start : {"\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "RIFF\xff\xff\xff\xffWEBP"}) {
        const auto refused = refusal(start + std::string(100, '\0'));
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->why, ImageError::Why::malformed) << refused->message;
    }
}

TEST(DecodeRefuses, OtherImageFormatsByTheirNames) {
    const std::pair<std::string, const char*> files[] = {
        {"GIF89a..........", "found a GIF; convert it, for example with `convert in.gif out.png`"},
        {"BM\x36\x10\0\0"s, "found a BMP"},
        {"II*\0\x08\0\0\0"s, "found a TIFF"},
        {"MM\0*\0\0\0\x08"s, "found a TIFF"},
        {"\0\0\0\x18"
         "ftypheic...."s,
         "found a HEIC"},
        {"\0\0\0\x1c"
         "ftypavif...."s,
         "found an AVIF"}};
    for (const auto& [bytes, text] : files) EXPECT_THAT(refusal_text(bytes), HasSubstr(text));
    EXPECT_THAT(refusal_text("GIF"), HasSubstr("found bytes 47 49 46"));
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

TEST(DecodeRefuses, SidesThatNoResizingCouldBear) {
    const auto wide = refusal(png(178'956'970, 1, ""));
    ASSERT_TRUE(wide);
    EXPECT_EQ(wide->why, ImageError::Why::too_large);
    EXPECT_THAT(wide->message, HasSubstr("at most 65535 pixels a side, found 178956970x1"));
    EXPECT_EQ(refusal(png(1, 65536, ""))->why, ImageError::Why::too_large);
    EXPECT_EQ(refusal(png(1, 65535, ""))->why, ImageError::Why::malformed);
}

// libjpeg would make up what is missing: gigabytes of grey.
TEST(DecodeRefuses, AJpegWithoutABitForEachBlock) {
    const long before = peak_kilobytes();
    for (const char* file : {"jpeg_progressive.jpg", "jpeg_420.jpg", "jpeg_cmyk_progressive.jpg"}) {
        std::string bytes = read_file(decode_data(file));
        const std::size_t frame = std::min(bytes.find("\xff\xc2"), bytes.find("\xff\xc0"));
        bytes.replace(frame + 5, 4, big_endian(2700, 2) + big_endian(65500, 2));
        EXPECT_THAT(refusal_text(bytes), HasSubstr("cannot hold 65500x2700 pixels")) << file;
    }
    EXPECT_LT(peak_kilobytes() - before, 10'000);
}

TEST(DecodeRefuses, ADamagedWebpCostsWhatIsInIt) {
    const long before = peak_kilobytes();
    std::string bytes = read_file(decode_data("webp_lossy.webp"));
    bytes.replace(bytes.find("\x9d\x01\x2a") + 3, 4, "\xff\x3f\xaa\x2a");
    EXPECT_THAT(refusal_text(bytes), HasSubstr("malformed WebP"));
    EXPECT_LT(peak_kilobytes() - before, 60'000);
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
    const std::string bomb = deflated_zeros(256);
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
    const std::string many = with_more_scans(bytes, 100);
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
