#include "image/draw/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "image/draw/draw.h"
#include "image/ops/colour_convert.h"

namespace cait {

namespace {

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
    bool covers(std::int64_t place) const { return place >= inside_start && place < end; }
};

constexpr double kOutside = 0.4;  // brightness of what the map does not cover

void mix(std::uint8_t* pixel, const Colour& colour, double strength) {
    for (std::size_t c = 0; c < 3; ++c)
        pixel[c] = std::uint8_t(
            std::lround(double(pixel[c]) * (1 - strength) + double(colour[c]) * strength));
}

// A map at the size of what it covers of an image.
class Enlarged {
public:
    Enlarged(const HeatMap& map, const Box& where, const Image& image)
        : across_(where.left, where.right, image.width),
          down_(where.top, where.bottom, image.height) {
        ResizeWorkspace workspace;
        resize(grey_map(map),
               ResizeTarget{across_.size, down_.size, across_.inside_start - across_.start,
                            down_.inside_start - down_.start, across_.end - across_.inside_start,
                            down_.end - down_.inside_start},
               Filter::bicubic, false, values_, workspace);
    }

    const Image& values() const { return values_; }

    // Calls draw(pixel, value) where the map is; elsewhere pixels get darker. The canvas is RGB.
    template <class Draw>
    void for_pixels(Image& canvas, const Draw& draw) const {
        for (std::int64_t y = 0; y < canvas.height; ++y)
            for (std::int64_t x = 0; x < canvas.width; ++x) {
                std::uint8_t* pixel = canvas.row(y) + 3 * x;
                if (down_.covers(y) && across_.covers(x))
                    draw(pixel, values_.row(y - down_.inside_start)[x - across_.inside_start]);
                else
                    mix(pixel, {}, 1 - kOutside);
            }
    }

private:
    Stretch across_, down_;
    Image values_;  // grey
};

}  // namespace

std::vector<float> normalised(std::span<const float> values) {
    for (const float value : values)
        if (!std::isfinite(value)) throw Error("[heat_map] a value is not finite");
    std::vector<float> unit(values.size());
    if (values.empty()) return unit;
    const auto [least, most] = std::ranges::minmax(values);
    const double range = double(most) - double(least);
    for (std::size_t i = 0; range > 0 && i < values.size(); ++i)
        unit[i] = float((double(values[i]) - double(least)) / range);
    return unit;
}

Image grey_map(const HeatMap& map) {
    if (map.width < 1 || map.height < 1 ||
        std::int64_t(map.values.size()) != map.width * map.height)
        throw Error(fmt::format("[heat_map] expected {}x{} values, found {}", map.width, map.height,
                                map.values.size()));
    const std::vector<float> unit = normalised(map.values);
    Image grey = Image::blank(map.width, map.height, 1);
    for (std::size_t i = 0; i < unit.size(); ++i)
        grey.pixels[i] = std::uint8_t(std::lround(255 * unit[i]));
    return grey;
}

Image overlay(const Image& image, const HeatMap& map, const Box& where, double strength) {
    const Enlarged heat(map, where, image);
    Image result = Image::blank(image.width, image.height, 3);
    paste(result, image, 0, 0);
    heat.for_pixels(result, [&](std::uint8_t* pixel, std::uint8_t value) {
        mix(pixel, heat_colour(double(value) / 255), strength);
    });
    return result;
}

Image saliency(const Image& image, const HeatMap& map, const Box& where) {
    const Enlarged heat(map, where, image);
    Image grey = image;
    to_grey(grey);
    Image result = Image::blank(image.width, image.height, 3);
    paste(result, grey, 0, 0);
    const auto [least, most] = std::ranges::minmax(heat.values().pixels);
    const double range = std::max(double(most) - double(least), 1.0);
    heat.for_pixels(result, [&](std::uint8_t* pixel, std::uint8_t value) {
        const double strength = (double(value) - double(least)) / range;
        std::ranges::copy(cividis_colour(strength * double(pixel[0]) / 255), pixel);
    });
    return result;
}

}  // namespace cait
