// Pixels against Pillow's, for every way of storing an image that make_images.py knows.
#include "image/codec/decode.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

#include "unit/image/codec/decode_support.h"

namespace cait::test {
namespace {

struct Expected {
    std::string file;
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t offset = 0;  // of the RGB pixels in pillow.bin; -1: only the checksum is known
    std::uint64_t rgb = 0;
    std::uint64_t grey = 0;
};

std::vector<Expected> read_index() {
    std::istringstream index(read_file(decode_data("index.txt")));
    std::vector<Expected> all;
    Expected one;
    while (index >> one.file >> one.width >> one.height >> one.offset >> std::hex >> one.rgb >>
           one.grey >> std::dec)
        all.push_back(one);
    return all;
}

void expect_close(std::span<const std::uint8_t> found, std::string_view wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    std::size_t different = 0;
    int worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const int distance = std::abs(found[i] - std::uint8_t(wanted[i]));
        different += distance != 0;
        worst = std::max(worst, distance);
    }
    EXPECT_LE(worst, 1);
    EXPECT_LE(double(different), 0.001 * double(found.size()));
}

TEST(DecodeAgainstPillow, Rgb) {
    const std::string pillow = read_file(decode_data("pillow.bin"));
    for (const Expected& expected : read_index()) {
        SCOPED_TRACE(expected.file);
        const Image image = read_image(decode_data(expected.file));
        ASSERT_EQ(image.width, expected.width);
        ASSERT_EQ(image.height, expected.height);
        ASSERT_EQ(image.channels, 3);
        const auto size = std::size_t(image.width * image.height * 3);
        ASSERT_EQ(image.pixels.size(), size);
        if (expected.offset >= 0)
            expect_close(image.pixels,
                         std::string_view(pillow).substr(std::size_t(expected.offset), size));
        // More than is promised, but true so far; where it ceases to be, that should be known.
        EXPECT_EQ(checksum(image.pixels), expected.rgb);
    }
}

TEST(DecodeAgainstPillow, Grey) {
    for (const Expected& expected : read_index()) {
        SCOPED_TRACE(expected.file);
        const Image image = read_image(decode_data(expected.file), {.limits = {}, .channels = 1});
        ASSERT_EQ(image.channels, 1);
        ASSERT_EQ(image.pixels.size(), std::size_t(expected.width * expected.height));
        EXPECT_EQ(checksum(image.pixels), expected.grey);
    }
}

TEST(DecodeAgainstPillow, ProbeAgreesWithDecoding) {
    for (const Expected& expected : read_index()) {
        SCOPED_TRACE(expected.file);
        const std::string bytes = read_file(decode_data(expected.file));
        const ImageInfo info = probe_image(bytes_of(bytes), expected.file);
        const bool swaps = info.orientation >= 5;
        EXPECT_EQ(swaps ? info.height : info.width, expected.width);
        EXPECT_EQ(swaps ? info.width : info.height, expected.height);
        const Image stored = decode_image(
            bytes_of(bytes), expected.file,
            {.limits = {.pixels = info.width * info.height}, .apply_orientation = false});
        EXPECT_EQ(stored.width, info.width);
        EXPECT_EQ(stored.height, info.height);
    }
}

TEST(Decode, ItsMemoryIsKnownByTheHeader) {
    const auto needed = [](const std::string& file) {
        const std::string bytes = read_file(decode_data(file));
        return decoding_memory(bytes_of(bytes), file);
    };
    for (const Expected& expected : read_index())
        EXPECT_GE(needed(expected.file), std::uint64_t(3 * expected.width * expected.height))
            << expected.file;
    EXPECT_GT(needed("jpeg_progressive.jpg"), needed("jpeg_420.jpg"));  // all coefficients at once
}

TEST(Decode, EveryTruncationIsRefused) {
    for (const Expected& expected : read_index()) {
        if (expected.offset < 0 || expected.file == "jpeg_trailing.jpg") continue;
        SCOPED_TRACE(expected.file);
        const std::string whole = read_file(decode_data(expected.file));
        for (std::size_t size = 0; size < whole.size(); size += size < 100 ? 1 : 7)
            EXPECT_TRUE(refusal(std::string_view(whole).substr(0, size))) << size << " bytes";
        EXPECT_TRUE(refusal(std::string_view(whole).substr(0, whole.size() - 1)));
    }
}

TEST(Decode, AllStoredImagesAreRead) { EXPECT_EQ(read_index().size(), 106U); }

TEST(Decode, MemoryIsUsedAgain) {
    const std::array<std::string, 6> files{"jpeg_48x35.jpg", "png_rgb8_interlaced.png",
                                           "png_la16.png",   "webp_animated.webp",
                                           "jpeg_exif6.jpg", "jpeg_cmyk.jpg"};
    Image image;
    for (int round = 0; round < 2; ++round) {
        for (const std::string& file : files) {
            decode_image_into(image, bytes_of(read_file(decode_data(file))), file);
            EXPECT_EQ(image, read_image(decode_data(file))) << file;
        }
    }
}

TEST(Probe, SaysWhatIsStored) {
    const auto probe = [](const std::string& file) {
        return probe_image(bytes_of(read_file(decode_data(file))), file);
    };
    using enum ImageFormat;
    EXPECT_EQ(probe("jpeg_420.jpg"), (ImageInfo{jpeg, 37, 29, 3, 8, 1}));
    EXPECT_EQ(probe("jpeg_ycck.jpg"), (ImageInfo{jpeg, 26, 19, 4, 8, 1}));
    EXPECT_EQ(probe("jpeg_exif8_long.jpg"), (ImageInfo{jpeg, 13, 7, 1, 8, 8}));
    EXPECT_EQ(probe("jpeg_exif9.jpg"), (ImageInfo{jpeg, 13, 7, 3, 8, 1}));
    EXPECT_EQ(probe("png_palette2.png"), (ImageInfo{png, 23, 17, 3, 2, 1}));
    EXPECT_EQ(probe("png_la16.png"), (ImageInfo{png, 23, 17, 2, 16, 1}));
    EXPECT_EQ(probe("png_exif3_after.png"), (ImageInfo{png, 23, 17, 3, 8, 3}));
    EXPECT_EQ(probe("webp_exif6.webp"), (ImageInfo{webp, 13, 7, 3, 8, 6}));
    EXPECT_EQ(probe("webp_lossy_alpha.webp"), (ImageInfo{webp, 33, 21, 4, 8, 1}));
}

}  // namespace
}  // namespace cait::test
