#include "image/draw/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cait/error.h"
#include "image/draw/draw.h"

namespace cait {

namespace {

// Stops at equal distances; between them colours are mixed.
constexpr std::array<std::array<double, 3>, 6> kStops = {
    {{4, 3, 24}, {68, 16, 104}, {143, 38, 100}, {213, 72, 66}, {249, 146, 38}, {252, 250, 180}}};

// Map values as an 8-bit image, which the resizer takes.
Image as_grey(const HeatMap& map) {
    if (map.width < 1 || map.height < 1 ||
        std::int64_t(map.values.size()) != map.width * map.height)
        throw Error(fmt::format("[heat_map] expected {}x{} values, found {}", map.width, map.height,
                                map.values.size()));
    for (const float value : map.values)
        if (!std::isfinite(value)) throw Error("[heat_map] a value is not finite");
    const auto [least, most] = std::minmax_element(map.values.begin(), map.values.end());
    const double range = std::max(double(*most) - double(*least), 1e-12);
    Image grey = Image::blank(map.width, map.height, 1);
    for (std::size_t i = 0; i < map.values.size(); ++i)
        grey.pixels[i] =
            std::uint8_t(std::lround(255 * (double(map.values[i]) - double(*least)) / range));
    return grey;
}

}  // namespace

Colour heat_colour(double value) {
    const double place = std::clamp(value, 0.0, 1.0) * double(kStops.size() - 1);
    const std::size_t below = std::min(std::size_t(place), kStops.size() - 2);
    const double share = place - double(below);
    const auto mixed = [&](std::size_t c) {
        return std::uint8_t(
            std::lround(kStops[below][c] * (1 - share) + kStops[below + 1][c] * share));
    };
    return {mixed(0), mixed(1), mixed(2)};
}

Image overlay(const Image& image, const HeatMap& map, double strength) {
    const Image heat = scaled(as_grey(map), image.width, image.height, Scaling::smooth);
    Image result = Image::blank(image.width, image.height, 3);
    const std::size_t pixels = std::size_t(image.width * image.height);
    for (std::size_t i = 0; i < pixels; ++i) {
        const Colour colour = heat_colour(double(heat.pixels[i]) / 255);
        for (std::size_t c = 0; c < 3; ++c) {
            const double own = image.pixels[image.channels == 3 ? 3 * i + c : i];
            result.pixels[3 * i + c] =
                std::uint8_t(std::lround(own * (1 - strength) + double(colour[c]) * strength));
        }
    }
    return result;
}

}  // namespace cait
