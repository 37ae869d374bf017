#include "image/codec/encode.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "unit/image/codec/decode_support.h"

namespace cait::test {
namespace {

using ::testing::HasSubstr;

Image encode_pattern(std::int64_t width, std::int64_t height, std::int64_t channels) {
    Image image = Image::blank(width, height, channels);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width * channels; ++x)
            image.row(y)[x] = std::uint8_t(3 * x + 5 * y + 40 * (x % channels));
    return image;
}

template <class Action>
std::string error_text(const Action& action) {
    try {
        action();
        return "(none)";
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(Encode, PngKeepsEveryPixel) {
    for (const auto channels : {1, 3}) {
        for (const auto& [width, height] : {std::pair{1, 1}, {17, 5}, {64, 48}}) {
            const Image image = encode_pattern(width, height, channels);
            EXPECT_EQ(decode_image(encode_png(image), "x", {.limits = {}, .channels = channels}),
                      image);
        }
    }
}

TEST(Encode, JpegIsCloseAtHighQuality) {
    for (const auto channels : {1, 3}) {
        Image image = Image::blank(40, 32, channels);
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            image.pixels[i] = std::uint8_t(60 + i * 100 / image.pixels.size());
        const auto bytes = encode_jpeg(image, 95);
        EXPECT_EQ(probe_image(bytes, "x").channels, channels);
        const Image back = decode_image(bytes, "x", {.limits = {}, .channels = channels});
        ASSERT_EQ(back.pixels.size(), image.pixels.size());
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            ASSERT_LE(std::abs(back.pixels[i] - image.pixels[i]), 4) << i;
    }
    const Image image = encode_pattern(64, 48, 3);
    EXPECT_LT(encode_jpeg(image, 20).size(), encode_jpeg(image, 90).size());
}

TEST(Encode, MemoryThatEndsWhileAPngIsWrittenIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers need terabytes of address space";
#endif
    Image noise = Image::blank(4000, 3000, 3);
    std::uint32_t state = 1;
    for (std::uint8_t& value : noise.pixels)
        value = std::uint8_t((state = state * 69069 + 1) >> 24);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t room = rlim_t(pages) * rlim_t(::sysconf(_SC_PAGESIZE)) + (8U << 20);
        const rlimit limit{room, room};
        ::setrlimit(RLIMIT_AS, &limit);
        const std::string text = error_text([&] { encode_png(noise); });
        ::_exit(text == "cannot encode PNG: out of memory" ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Encode, LargeImagesMakeTheRoundTrip) {
    const Image image = encode_pattern(6000, 4000, 3);
    const Image back = decode_image(encode_jpeg(image, 50), "large");
    EXPECT_EQ(back.width, 6000);
    EXPECT_EQ(back.height, 4000);
    EXPECT_EQ(back.pixels.size(), image.pixels.size());
}

TEST(Encode, WritesByExtension) {
    const auto folder = std::filesystem::temp_directory_path() / "cait-encode-test";
    std::filesystem::create_directories(folder);
    const Image image = encode_pattern(9, 7, 3);
    for (const char* name : {"a.png", "b.jpg", "c.JPEG"}) {
        write_image(folder / name, image);
        EXPECT_EQ(read_image(folder / name).width, 9) << name;
    }
    EXPECT_EQ(read_image(folder / "a.png"), image);
    EXPECT_THROW(write_image(folder / "d.gif", image), UsageError);
    EXPECT_FALSE(std::filesystem::exists(folder / "d.gif"));
    EXPECT_THROW(write_image(folder / "missing" / "a.png", image), Error);
    std::filesystem::remove_all(folder);
}

TEST(Encode, RefusesWhatIsNoImage) {
    EXPECT_THAT(error_text([] { encode_png({}); }), HasSubstr("found 0x0"));
    EXPECT_THAT(error_text([] {
                    encode_png({2, 2, 3, {1, 2, 3}});
                }),
                HasSubstr("2x2x3 needs 12 bytes of pixels, found 3"));
    EXPECT_THAT(error_text([] { encode_jpeg(Image::blank(2, 2, 4), 90); }),
                HasSubstr("1 or 3 channels, found 4"));
    EXPECT_THAT(error_text([] { encode_jpeg(Image::blank(65501, 1, 1), 90); }),
                HasSubstr("1 to 65500"));
    EXPECT_THROW(encode_jpeg(Image::blank(2, 2, 3), 0), UsageError);
    EXPECT_THROW(encode_jpeg(Image::blank(2, 2, 3), 101), UsageError);
}

}  // namespace
}  // namespace cait::test
