#include "image/ops/photometric.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cait {

namespace {

constexpr int kHues = 180;
constexpr int kShift = 12;  // binary places of the quotients

struct OpencvHsv {
    int hue, saturation, value;
};

// round(numerator / i) for each i, in fixed point; OpenCV divides by these tables.
std::array<int, 256> quotients(double numerator) {
    std::array<int, 256> table{};
    for (int i = 1; i < 256; ++i)
        table[std::size_t(i)] = int(std::nearbyint(numerator * double(1 << kShift) / double(i)));
    return table;
}

OpencvHsv to_opencv_hsv(const std::uint8_t* rgb) {
    static const std::array<int, 256> kSaturations = quotients(255);
    static const std::array<int, 256> kHueSteps = quotients(kHues / 6.0);
    constexpr int kHalf = 1 << (kShift - 1);
    const int r = rgb[0], g = rgb[1], b = rgb[2];
    const int value = std::max({r, g, b});
    const int range = value - std::min({r, g, b});
    const int saturation = (range * kSaturations[std::size_t(value)] + kHalf) >> kShift;
    const int turn = value == r ? g - b : value == g ? b - r + 2 * range : r - g + 4 * range;
    const int hue = (turn * kHueSteps[std::size_t(range)] + kHalf) >> kShift;
    return {hue < 0 ? hue + kHues : hue, saturation, value};
}

// OpenCV computes in float with fused products, and cuts the fraction off.
void from_opencv_hsv(const OpencvHsv& from, std::uint8_t* rgb) {
    constexpr float kByte = 1.0F / 255;
    const float hue = float(from.hue) * (6.0F / kHues);
    const float saturation = float(from.saturation) * kByte, value = float(from.value) * kByte;
    const auto sector = int(hue);
    const float rest = hue - float(sector);
    const auto without = [&](float part) {  // 1 - saturation * part, rounded once
        return value * float(1.0 - double(saturation) * double(part));
    };
    const auto byte = [](float x) { return std::uint8_t(x * 255); };
    const std::uint8_t most = byte(value), least = byte(value * (1 - saturation));
    const std::uint8_t falling = byte(without(rest)), rising = byte(without(1 - rest));
    const auto set = [rgb](std::uint8_t r, std::uint8_t g, std::uint8_t b) {
        rgb[0] = r;
        rgb[1] = g;
        rgb[2] = b;
    };
    switch (sector) {
        case 0: return set(most, rising, least);
        case 1: return set(falling, most, least);
        case 2: return set(least, most, rising);
        case 3: return set(least, falling, most);
        case 4: return set(rising, least, most);
        default: return set(most, least, falling);
    }
}

template <class Change>
void change_hsv(Image& image, const Change& change) {
    for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
        OpencvHsv hsv = to_opencv_hsv(&image.pixels[i]);
        change(hsv);
        from_opencv_hsv(hsv, &image.pixels[i]);
    }
}

std::array<std::uint8_t, 256> scaled_bytes(double factor, double shift) {
    std::array<std::uint8_t, 256> table{};
    for (int i = 0; i < 256; ++i)
        table[std::size_t(i)] =
            std::uint8_t(std::clamp(float(i) * float(factor) + float(shift), 0.0F, 255.0F));
    return table;
}

}  // namespace

void scale_values(Image& image, double factor, double shift) {
    const std::array<std::uint8_t, 256> table = scaled_bytes(factor, shift);
    for (std::uint8_t& value : image.pixels) value = table[value];
}

void scale_saturation(Image& image, double factor) {
    const std::array<std::uint8_t, 256> table = scaled_bytes(factor, 0);
    change_hsv(image, [&](OpencvHsv& hsv) { hsv.saturation = table[std::size_t(hsv.saturation)]; });
}

void turn_hue(Image& image, int turn) {
    change_hsv(image, [&](OpencvHsv& hsv) { hsv.hue = (hsv.hue + turn + kHues) % kHues; });
}

}  // namespace cait
