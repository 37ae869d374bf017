#include "image/draw/draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "image/draw/pixel_font.h"
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

std::size_t character_count(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); ++count) next_character(text);
    return count;
}

std::int64_t width_of(std::size_t characters, int scale) {
    if (characters == 0) return 0;
    return (std::int64_t(characters) * kGlyphAdvance - (kGlyphAdvance - kGlyphWidth)) * scale;
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

void draw_text(Image& canvas, std::int64_t left, std::int64_t top, std::string_view text,
               const Colour& colour, int scale) {
    for (; !text.empty() && left < canvas.width; left += kGlyphAdvance * scale) {
        const char32_t c = next_character(text);
        for (int y = 0; y < kGlyphHeight; ++y)
            for (int x = 0; x < kGlyphWidth; ++x)
                if (glyph_pixel(c, x, y))
                    fill_rectangle(canvas, left + x * scale, top + y * scale, scale, scale, colour);
    }
}

std::int64_t text_width(std::string_view text, int scale) {
    return width_of(character_count(text), scale);
}

std::int64_t line_height(int scale) { return std::int64_t(kLineAdvance) * scale; }

std::string fit_text(std::string_view text, std::int64_t width, int scale) {
    constexpr std::string_view kMore = "...";
    if (text_width(text, scale) <= width) return std::string(text);
    std::string_view rest = text;
    std::size_t kept = 0;  // bytes
    for (std::size_t count = 1; !rest.empty(); ++count) {
        if (width_of(count + kMore.size(), scale) > width) break;
        next_character(rest);
        kept = text.size() - rest.size();
    }
    if (kept > 0) return std::string(text.substr(0, kept)) + std::string(kMore);
    // Not even one letter and the dots: as many dots as there is room for.
    std::size_t dots = kMore.size();
    while (dots > 0 && width_of(dots, scale) > width) --dots;
    return std::string(kMore.substr(0, dots));
}

}  // namespace cait
