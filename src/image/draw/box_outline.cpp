#include "image/draw/box_outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "image/draw/draw.h"

namespace cait {

namespace {

// Far outside is as good as just outside, and a whole number.
std::int64_t rounded_edge(double edge, std::int64_t size) {
    return std::int64_t(std::lround(std::clamp(edge, -1e6, double(size) + 1e6)));
}

void mix_colour(std::uint8_t* pixel, std::int64_t channels, const Colour& colour, double strength) {
    for (std::int64_t c = 0; c < channels; ++c)
        pixel[c] = std::uint8_t(
            std::lround(double(pixel[c]) + strength * (double(colour[std::size_t(c)]) - pixel[c])));
}

}  // namespace

std::int64_t outline_width(const Image& canvas) {
    return std::max<std::int64_t>(1, (std::max(canvas.width, canvas.height) + 200) / 400);
}

void draw_box(Image& canvas, const Box& box, const Colour& colour, std::int64_t width) {
    for (const double edge : {box.left, box.top, box.right, box.bottom})
        if (!std::isfinite(edge)) return;
    const std::int64_t left = rounded_edge(box.left, canvas.width);
    const std::int64_t top = rounded_edge(box.top, canvas.height);
    const std::int64_t across =
        std::max(rounded_edge(box.right, canvas.width) - left, std::int64_t(1));
    const std::int64_t down =
        std::max(rounded_edge(box.bottom, canvas.height) - top, std::int64_t(1));
    const std::int64_t line = std::max<std::int64_t>(width, 1);
    fill_rectangle(canvas, left, top, across, std::min(line, down), colour);
    fill_rectangle(canvas, left, top + std::max(down - line, std::int64_t(0)), across,
                   std::min(line, down), colour);
    fill_rectangle(canvas, left, top, std::min(line, across), down, colour);
    fill_rectangle(canvas, left + std::max(across - line, std::int64_t(0)), top,
                   std::min(line, across), down, colour);
}

void tint_mask(Image& canvas, const RunMask& mask, const Colour& colour, double strength) {
    if (mask.width != canvas.width || mask.height != canvas.height)
        throw Error(fmt::format("[tint_mask] expected a mask of {}x{} pixels, found {}x{}",
                                canvas.width, canvas.height, mask.width, mask.height));
    if (mask.empty()) return;
    const std::vector<std::uint8_t> inside = mask_pixels(mask);
    const auto outside = [&](std::int64_t x, std::int64_t y) {
        return x < 0 || y < 0 || x >= mask.width || y >= mask.height ||
               inside[std::size_t(y * mask.width + x)] == 0;
    };
    const Box box = mask_bounds(mask);
    for (std::int64_t y = std::int64_t(box.top); y < std::int64_t(box.bottom); ++y)
        for (std::int64_t x = std::int64_t(box.left); x < std::int64_t(box.right); ++x) {
            if (outside(x, y)) continue;
            const bool border =
                outside(x - 1, y) || outside(x + 1, y) || outside(x, y - 1) || outside(x, y + 1);
            mix_colour(canvas.row(y) + x * canvas.channels, canvas.channels, colour,
                       border ? 1.0 : strength);
        }
}

}  // namespace cait
