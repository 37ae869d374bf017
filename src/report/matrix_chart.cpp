#include "report/matrix_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "image/draw/colour_map.h"

namespace cait {

namespace {

using Anchor = Drawing::Anchor;

// From 1 at the top to `least` at the bottom.
Image colour_scale(Colour (*colour)(double), double least) {
    constexpr std::int64_t kSteps = 64;
    Image image = Image::blank(1, kSteps, 3);
    for (std::int64_t y = 0; y < kSteps; ++y)
        std::ranges::copy(colour(1 - (1 - least) * double(y) / double(kSteps - 1)), image.row(y));
    return image;
}

}  // namespace

Figure matrix_figure(const MatrixChart& chart) {
    constexpr double kLeft = 46, kTop = 4, kSide = 260, kScale = 14;
    if (chart.size == 0) return {.name = chart.name, .title = chart.title};
    constexpr double kSlack = 1e-3;  // what rounding leaves of a zero
    const bool with_signs = std::ranges::min(chart.values) < -kSlack;
    const auto colour = with_signs ? signed_colour : cividis_colour;
    Image image = Image::blank(std::int64_t(chart.size), std::int64_t(chart.size), 3);
    for (std::size_t i = 0; i < chart.size * chart.size; ++i)
        std::ranges::copy(colour(chart.values[i]), &image.pixels[3 * i]);
    Drawing drawing(kLeft + kSide + 78, kTop + kSide + 40);
    drawing.add(Drawing::Picture{std::move(image), kLeft, kTop, kSide, kSide});
    const double cell = kSide / double(chart.size);
    const std::size_t step = (chart.size + 11) / 12;
    for (std::size_t i = 0; i < chart.size; i += step) {
        const double middle = (double(i) + 0.5) * cell;
        drawing.add(Drawing::Text{
            "tick", {kLeft - 6, kTop + middle + 4}, fmt::format("{}", i), Anchor::end});
        drawing.add(Drawing::Text{
            "tick", {kLeft + middle, kTop + kSide + 15}, fmt::format("{}", i), Anchor::middle});
    }
    drawing.add(
        Drawing::Text{"tick", {kLeft + kSide, kTop + kSide + 32}, chart.axis_label, Anchor::end});
    const double bar = kLeft + kSide + 18;
    drawing.add(
        Drawing::Picture{colour_scale(colour, with_signs ? -1 : 0), bar, kTop, kScale, kSide});
    for (const double place : {0.0, 0.25, 0.5, 0.75, 1.0})
        drawing.add(
            Drawing::Text{"tick",
                          {bar + kScale + 6, kTop + (1 - place) * kSide + (place == 1 ? 8 : 4)},
                          fmt::format("{}", with_signs ? 2 * place - 1 : place)});
    return {chart.name, chart.title, {}, {}, std::move(drawing)};
}

Figure tile_figure(const std::string& name, const std::string& title, const std::string& label,
                   const std::vector<TileGroup>& groups) {
    constexpr double kGap = 14, kText = 16, kWidth = 660;
    constexpr std::size_t kColumns = 4;
    if (groups.empty()) return {.name = name, .title = title};
    const std::size_t columns = std::min(kColumns, groups.size());
    const double side = (kWidth - kGap) / double(kColumns) - kGap;
    const auto rows = double((groups.size() + columns - 1) / columns);
    Drawing drawing(std::max(2 * (side + kGap) + kGap, double(columns) * (side + kGap) + kGap),
                    rows * (side + kText + kGap) + 4);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const double left = kGap + double(i % columns) * (side + kGap);
        const double top = double(i / columns) * (side + kText + kGap);
        drawing.add(Drawing::Text{"tick", {left, top + 10}, fitted_text(groups[i].name, side)});
        const Image& tiles = groups[i].tiles;
        const double height = side * double(tiles.height) / double(tiles.width);
        drawing.add(Drawing::Picture{tiles, left, top + kText, side, std::min(height, side)});
    }
    return {name, title, label, {}, std::move(drawing)};
}

}  // namespace cait
