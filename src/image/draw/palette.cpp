#include "image/draw/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cait/error.h"
#include "image/draw/draw.h"

namespace cait {

namespace {

// Whether a neighbour to the right or below has another class.
bool at_border(std::span<const std::uint8_t> labels, std::int64_t width, std::int64_t height,
               std::int64_t x, std::int64_t y) {
    const std::uint8_t own = labels[std::size_t(y * width + x)];
    return (x + 1 < width && labels[std::size_t(y * width + x + 1)] != own) ||
           (y + 1 < height && labels[std::size_t((y + 1) * width + x)] != own);
}

}  // namespace

Colour default_class_colour(std::size_t index) {
    constexpr double kGoldenAngle = 0.381966011250105;  // of a full turn
    constexpr double kBrightness[] = {0.95, 0.62, 0.80};
    const double hue = std::fmod(double(index) * kGoldenAngle, 1.0);
    const double value = 255 * kBrightness[index % std::size(kBrightness)];
    const double saturation = index % 2 == 0 ? 0.85 : 0.6;
    Colour colour{};
    for (std::size_t c = 0; c < 3; ++c) {
        // A channel is at its full value in a third of the circle around its own hue, and falls
        // off on both sides of that.
        const double away = std::fabs(std::remainder(hue - double(c) / 3, 1.0));
        const double part = std::clamp(2 - 6 * away, 0.0, 1.0);
        colour[c] = std::uint8_t(std::lround(value * (1 - saturation * (1 - part))));
    }
    return colour;
}

std::vector<Colour> class_colours(std::span<const Colour> given, std::size_t classes) {
    std::vector<Colour> colours(given.begin(),
                                given.begin() + std::ptrdiff_t(std::min(given.size(), classes)));
    while (colours.size() < classes) colours.push_back(default_class_colour(colours.size()));
    return colours;
}

Image label_overlay(const Image& image, std::span<const std::uint8_t> labels,
                    std::span<const Colour> colours, double strength) {
    if (labels.size() != std::size_t(image.width * image.height))
        throw Error(
            fmt::format("[label_overlay] expected a label for each of {}x{} pixels, found {}",
                        image.width, image.height, labels.size()));
    Image result = Image::blank(image.width, image.height, 3);
    paste(result, image, 0, 0);
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            const std::uint8_t label = labels[std::size_t(y * image.width + x)];
            if (label >= colours.size()) continue;
            const double share = at_border(labels, image.width, image.height, x, y) ? 1 : strength;
            std::uint8_t* pixel = result.row(y) + 3 * x;
            for (std::size_t c = 0; c < 3; ++c)
                pixel[c] = std::uint8_t(std::lround(double(pixel[c]) * (1 - share) +
                                                    double(colours[label][c]) * share));
        }
    return result;
}

}  // namespace cait
