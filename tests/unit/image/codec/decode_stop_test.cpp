// Decoding that somebody may stop gives the same pixels, asks often, and stops.
#include <webp/encode.h>

#include <functional>

#include "image/codec/encode.h"
#include "support/broken_images.h"
#include "unit/image/codec/decode_support.h"

namespace cait::test {
namespace {

DecodeOptions with(std::function<bool()> stop) {
    DecodeOptions options;
    options.stop = std::move(stop);
    return options;
}
bool never() { return false; }

// Neither smooth nor noise, so that every codec has something to do.
Image decode_stop_pattern(std::int64_t width, std::int64_t height, std::int64_t channels = 3) {
    Image image{width, height, channels, {}};
    image.pixels.resize(std::size_t(width * height * channels));
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
        state = state * 1664525 + 1013904223;
        image.pixels[i] = std::uint8_t(i / 97 + (state >> 29));
    }
    return image;
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

enum class Webp { lossy, lossless, alpha };

// In the fastest way: what it looks like does not matter.
std::string webp(Webp kind, int width, int height) {
    const bool alpha = kind == Webp::alpha;
    const Image image = decode_stop_pattern(width, height, alpha ? 4 : 3);
    WebPConfig config;
    EXPECT_NE(WebPConfigInit(&config), 0);
    config.method = 0;
    config.quality = 20;
    config.lossless = kind == Webp::lossless ? 1 : 0;
    WebPPicture picture;
    EXPECT_NE(WebPPictureInit(&picture), 0);
    picture.use_argb = config.lossless;
    picture.width = width;
    picture.height = height;
    EXPECT_NE(alpha ? WebPPictureImportRGBA(&picture, image.pixels.data(), 4 * width)
                    : WebPPictureImportRGB(&picture, image.pixels.data(), 3 * width),
              0);
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    EXPECT_NE(WebPEncode(&config, &picture), 0);
    const std::string file(reinterpret_cast<const char*>(writer.mem), writer.size);
    WebPMemoryWriterClear(&writer);
    WebPPictureFree(&picture);
    return file;
}

TEST(DecodeStop, WhatIsNeverStoppedIsTheSame) {
    std::size_t compared = 0;
    for (const auto& entry : std::filesystem::directory_iterator(decode_data(""))) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".jpg" && extension != ".png" && extension != ".webp") continue;
        const std::string file = read_file(entry.path());
        ASSERT_EQ(decode_image(bytes_of(file), "x", with(never)), decode_image(bytes_of(file), "x"))
            << entry.path();
        ++compared;
    }
    EXPECT_GT(compared, 80U);
    for (const Webp kind : {Webp::lossy, Webp::lossless, Webp::alpha}) {
        const std::string file = webp(kind, 1500, 1401);  // several pieces
        EXPECT_EQ(decode_image(bytes_of(file), "x", with(never)), decode_image(bytes_of(file), "x"))
            << int(kind);
    }
}

TEST(DecodeStop, AFileThatIsCutShortIsRefusedAsBefore) {
    for (const Webp kind : {Webp::lossy, Webp::lossless, Webp::alpha}) {
        std::string file = webp(kind, 1500, 1401);
        // The container is whole, what it holds is not.
        file.replace(file.size() / 2, file.size() / 2, std::string(file.size() / 2, '\0'));
        const std::string plain = refusal_text(file);
        EXPECT_EQ(refusal_text(file, with(never)), plain) << int(kind);
    }
}

TEST(DecodeStop, StopsWhenItIsTold) {
    const Image square = decode_stop_pattern(1200, 1200);
    const struct {
        const char* what;
        std::string file;
        int least;  // questions in a whole image
    } kinds[] = {
        {"JPEG", text_of(encode_jpeg(square)), 1200 / 16},
        {"progressive JPEG", read_file(decode_data("jpeg_progressive.jpg")), 1},
        {"PNG", text_of(encode_png(square)), 1200 / 16},
        {"interlaced PNG", png(800, 800, deflate(std::string(801 * 800, '\0')), true), 800 / 16},
        {"lossy WebP", webp(Webp::lossy, 2200, 2000), 3},
        {"lossless WebP", webp(Webp::lossless, 2200, 2000), 3},
        {"WebP of few bytes", solid_webp(4000, 4000), 4},
    };
    for (const auto& kind : kinds) {
        int asked = 0;
        const auto count = [&] { return ++asked < 0; };
        try {
            decode_image(bytes_of(kind.file), "x", with(count));
        } catch (const ImageError&) {  // the interlaced one holds less than it promises
        }
        EXPECT_GE(asked, kind.least) << kind.what;
        for (const int at : {1, (asked + 1) / 2}) {
            asked = 0;
            EXPECT_THROW(
                decode_image(bytes_of(kind.file), "x", with([&] { return ++asked >= at; })),
                DecodingStopped)
                << kind.what;
            EXPECT_EQ(asked, at) << kind.what;
        }
    }
}

TEST(DecodeStop, ASolidWebpIsAnImage) {
    const std::string file = solid_webp(300, 200);
    EXPECT_LT(file.size(), 64U);
    const Image image = decode_image(bytes_of(file), "x");
    EXPECT_EQ(image.width, 300);
    EXPECT_EQ(image.height, 200);
    EXPECT_EQ(image.pixels[0], 80);
    EXPECT_EQ(image.pixels.back(), 40);
}

}  // namespace
}  // namespace cait::test
