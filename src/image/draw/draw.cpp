#include "image/draw/draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "image/ops/resize.h"

namespace cait {

namespace {

// The part of [start, start + length) that is inside [0, size).
struct Clipped {
    std::int64_t begin;
    std::int64_t end;
};

Clipped clip(std::int64_t start, std::int64_t length, std::int64_t size) {
    const std::int64_t begin = std::clamp(start, std::int64_t(0), size);
    return {begin, std::clamp(start + length, begin, size)};
}

}  // namespace

Image filled(std::int64_t width, std::int64_t height, const Colour& colour) {
    Image image = Image::blank(width, height, 3);
    fill_rectangle(image, 0, 0, width, height, colour);
    return image;
}

void fill_rectangle(Image& canvas, std::int64_t left, std::int64_t top, std::int64_t width,
                    std::int64_t height, const Colour& colour) {
    const Clipped across = clip(left, width, canvas.width);
    const Clipped down = clip(top, height, canvas.height);
    for (std::int64_t y = down.begin; y < down.end; ++y) {
        std::uint8_t* pixel = canvas.row(y) + across.begin * canvas.channels;
        for (std::int64_t x = across.begin; x < across.end; ++x, pixel += canvas.channels)
            std::copy_n(colour.begin(), canvas.channels, pixel);
    }
}

void paste(Image& canvas, const Image& source, std::int64_t left, std::int64_t top) {
    if (source.channels > canvas.channels)
        throw Error(fmt::format("paste: expected an image of {} channels, found {}",
                                canvas.channels, source.channels));
    const Clipped across = clip(left, source.width, canvas.width);
    const Clipped down = clip(top, source.height, canvas.height);
    for (std::int64_t y = down.begin; y < down.end; ++y) {
        const std::uint8_t* from = source.row(y - top) + (across.begin - left) * source.channels;
        std::uint8_t* to = canvas.row(y) + across.begin * canvas.channels;
        for (std::int64_t x = across.begin; x < across.end; ++x) {
            for (std::int64_t c = 0; c < canvas.channels; ++c)
                to[c] = from[std::min(c, source.channels - 1)];
            from += source.channels;
            to += canvas.channels;
        }
    }
}

Image scaled(const Image& source, std::int64_t width, std::int64_t height, Scaling scaling) {
    if (scaling == Scaling::smooth) return resize(source, width, height, Filter::bicubic);
    if (width < 1 || height < 1)
        throw Error(
            fmt::format("scale: expected a size of at least 1x1, found {}x{}", width, height));
    Image result = Image::blank(width, height, source.channels);
    for (std::int64_t y = 0; y < height; ++y) {
        const std::uint8_t* from = source.row(y * source.height / height);
        std::uint8_t* to = result.row(y);
        for (std::int64_t x = 0; x < width; ++x, to += source.channels)
            std::copy_n(from + x * source.width / width * source.channels, source.channels, to);
    }
    return result;
}

Image fitted(const Image& source, std::int64_t side) {
    const std::int64_t longer = std::max(source.width, source.height);
    if (longer <= side) {
        const std::int64_t factor = side / longer;
        if (factor == 1) return source;
        return scaled(source, source.width * factor, source.height * factor, Scaling::nearest);
    }
    const auto shrunk = [&](std::int64_t size) {
        return std::max((2 * size * side + longer) / (2 * longer), std::int64_t(1));
    };
    return scaled(source, shrunk(source.width), shrunk(source.height), Scaling::smooth);
}

}  // namespace cait
