#include "image/ops/colour_convert.h"

namespace cait {

namespace {

// a * b / 255, rounded.
int multiply(int a, int b) {
    const int product = a * b + 128;
    return (product + (product >> 8)) >> 8;
}

}  // namespace

void to_grey(Image& image) {
    if (image.channels == 1) return;
    const std::size_t count = image.pixels.size() / 3;
    std::uint8_t* pixels = image.pixels.data();
    // Reading runs ahead of writing, so one buffer serves for both.
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t red = pixels[3 * i];
        const std::uint32_t green = pixels[3 * i + 1];
        const std::uint32_t blue = pixels[3 * i + 2];
        pixels[i] = std::uint8_t((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
    }
    image.pixels.resize(count);
    image.channels = 1;
}

void inverted_cmyk_to_rgb(const std::uint8_t* inverted, std::uint8_t* rgb, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const int light = inverted[4 * i + 3];  // 255 - K
        for (std::size_t c = 0; c < 3; ++c)
            rgb[3 * i + c] = std::uint8_t(light - multiply(255 - inverted[4 * i + c], light));
    }
}

}  // namespace cait
