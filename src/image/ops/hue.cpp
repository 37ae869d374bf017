// Turning the hue by way of Pillow's 8-bit HSV, whose roundings are part of the result.
#include <algorithm>
#include <array>
#include <cmath>

#include "image/ops/enhance.h"

namespace cait {

namespace {

struct Hsv {
    std::uint8_t hue;  // 255 is the full circle
    std::uint8_t saturation;
    std::uint8_t value;
};

Hsv to_hsv(const std::uint8_t* pixel) {
    const int high = std::max({pixel[0], pixel[1], pixel[2]});
    const int low = std::min({pixel[0], pixel[1], pixel[2]});
    if (high == low) return {0, 0, std::uint8_t(high)};
    const auto range = float(high - low);
    const float red = float(high - pixel[0]) / range;
    const float green = float(high - pixel[1]) / range;
    const float blue = float(high - pixel[2]) / range;
    float sixths = 0;
    if (pixel[0] == high)
        sixths = blue - green;
    else if (pixel[1] == high)
        sixths = float(2.0 + red - blue);
    else
        sixths = float(4.0 + green - red);
    const auto hue = float(std::fmod(sixths / 6.0 + 1.0, 1.0));
    const float saturation = range / float(high);
    return {std::uint8_t(std::clamp(int(hue * 255.0), 0, 255)),
            std::uint8_t(std::clamp(int(saturation * 255.0), 0, 255)), std::uint8_t(high)};
}

std::array<std::uint8_t, 3> to_rgb(const Hsv& colour) {
    const std::uint8_t v = colour.value;
    if (colour.saturation == 0) return {v, v, v};
    const auto sixths = float(colour.hue * 6.0 / 255.0);
    const auto sector = int(std::floor(sixths));
    const float part = sixths - float(sector);
    const auto strength = float(colour.saturation / 255.0);
    const auto shade = [v](double share) {
        return std::uint8_t(std::clamp(int(std::round(v * share)), 0, 255));
    };
    const std::uint8_t p = shade(1.0 - strength);
    const std::uint8_t q = shade(1.0 - strength * part);
    const std::uint8_t t = shade(1.0 - strength * (1.0 - part));
    switch (sector % 6) {
        case 0: return {v, t, p};
        case 1: return {q, v, p};
        case 2: return {p, v, t};
        case 3: return {p, q, v};
        case 4: return {t, p, v};
        default: return {v, p, q};
    }
}

}  // namespace

void adjust_hue(Image& image, double turn) {
    if (image.channels != 3) return;
    const auto shift = std::uint8_t(int(turn * 255));
    std::uint8_t* pixel = image.pixels.data();
    for (const std::uint8_t* end = pixel + image.pixels.size(); pixel != end; pixel += 3) {
        Hsv colour = to_hsv(pixel);
        colour.hue = std::uint8_t(colour.hue + shift);
        const std::array<std::uint8_t, 3> turned = to_rgb(colour);
        std::copy(turned.begin(), turned.end(), pixel);
    }
}

}  // namespace cait
