#include "image/draw/labelled_boxes.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "image/draw/box_outline.h"
#include "image/draw/draw.h"
#include "image/text/text.h"

namespace cait {

namespace {

constexpr std::int64_t kTagMargin = 3;  // at both ends of a text
// Of the image's shorter side, within what people can read and what hides little.
constexpr double kTextShare = 0.028;
constexpr double kLeastText = 11, kMostText = 40;

int text_size_for(const Image& image) {
    const double side = double(std::min(image.width, image.height));
    return int(std::clamp(std::round(kTextShare * side), kLeastText, kMostText));
}

// Colours are compared by their luminance, as WCAG has it.
double linear(std::uint8_t value) {
    const double v = value / 255.0;
    return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}
double luminance(const Colour& colour) {
    return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

// Of numbers that are none, the first one.
std::int64_t whole_pixel(double place, std::int64_t size) {
    if (std::isnan(place)) return 0;
    return std::int64_t(std::clamp(std::floor(place), 0.0, double(size)));
}

// On top of its box, or inside it where the image ends there; moved to the left where it would
// leave the image at the right.
void draw_tag(Image& canvas, const LabelledBox& box, const Font& font) {
    const std::int64_t most = std::max<std::int64_t>(canvas.width - 2 * kTagMargin, 1);
    const std::string text = fit_text(box.text, most, font);
    if (text.empty()) return;
    const std::int64_t width = text_width(text, font) + 2 * kTagMargin;
    const std::int64_t height = line_height(font) + 1;
    const std::int64_t left = std::min(whole_pixel(box.box.left, canvas.width),
                                       std::max<std::int64_t>(canvas.width - width, 0));
    const std::int64_t edge = whole_pixel(box.box.top, canvas.height);
    const std::int64_t top = edge >= height ? edge - height : edge;
    fill_rectangle(canvas, left, top, width, height, box.colour);
    draw_text(canvas, left + kTagMargin, top, text, ink_on(box.colour), font);
}

}  // namespace

Colour ink_on(const Colour& paper) {
    // Where the contrasts (L + 0.05) / 0.05 with black and 1.05 / (L + 0.05) with white are equal.
    constexpr double kEven = 0.179;
    return luminance(paper) > kEven ? Colour{0, 0, 0} : Colour{255, 255, 255};
}

Image with_labelled_boxes(const Image& image, std::span<const LabelledBox> boxes, int text_size) {
    Image canvas = Image::blank(image.width, image.height, 3);
    paste(canvas, image, 0, 0);
    const Font font{.size = text_size > 0 ? text_size : text_size_for(image)};
    for (const LabelledBox& box : boxes | std::views::reverse)
        if (!box.mask.empty()) tint_mask(canvas, box.mask, box.colour);
    for (const LabelledBox& box : boxes | std::views::reverse)
        draw_box(canvas, box.box, box.colour, outline_width(canvas));
    for (const LabelledBox& box : boxes | std::views::reverse) draw_tag(canvas, box, font);
    return canvas;
}

}  // namespace cait
