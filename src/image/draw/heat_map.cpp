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

// One axis of the map's place, in whole pixels of the image.
struct Stretch {
    std::int64_t start, size;        // may reach beyond the image
    std::int64_t inside_start, end;  // and this does not

    Stretch(double from, double to, std::int64_t limit)
        : start(std::llround(from)),
          size(std::max<std::int64_t>(std::llround(to) - start, 1)),
          inside_start(std::clamp<std::int64_t>(start, 0, limit)),
          end(std::clamp<std::int64_t>(start + size, inside_start, limit)) {
        if (end == inside_start)
            throw Error(fmt::format("[heat_map] expected a place inside the image, found {} to {}",
                                    from, to));
    }
};

constexpr double kOutside = 0.4;  // brightness of what the map does not cover

void mix(std::uint8_t* pixel, const Colour& colour, double strength) {
    for (std::size_t c = 0; c < 3; ++c)
        pixel[c] = std::uint8_t(
            std::lround(double(pixel[c]) * (1 - strength) + double(colour[c]) * strength));
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

Image overlay(const Image& image, const HeatMap& map, const Box& where, double strength) {
    const Image grey = as_grey(map);
    const Stretch across(where.left, where.right, image.width);
    const Stretch down(where.top, where.bottom, image.height);
    Image heat;
    ResizeWorkspace workspace;
    resize(grey,
           ResizeTarget{across.size, down.size, across.inside_start - across.start,
                        down.inside_start - down.start, across.end - across.inside_start,
                        down.end - down.inside_start},
           Filter::bicubic, false, heat, workspace);
    Image result = Image::blank(image.width, image.height, 3);
    paste(result, image, 0, 0);
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            std::uint8_t* pixel = result.row(y) + 3 * x;
            if (y >= down.inside_start && y < down.end && x >= across.inside_start &&
                x < across.end) {
                const std::uint8_t value = heat.row(y - down.inside_start)[x - across.inside_start];
                mix(pixel, heat_colour(double(value) / 255), strength);
            } else {
                mix(pixel, {}, 1 - kOutside);
            }
        }
    return result;
}

}  // namespace cait
