#include "image/ops/bilinear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"

namespace cait {

namespace {

using Place = BilinearWorkspace::Place;

constexpr float kOne = 2048;  // of the weights

// At the border OpenCV has the last pixel of a row count alone, while two equal rows keep their
// weights, which rounding may bring to a little more than one.
enum class Border { alone, twice };

void bilinear_places(std::int64_t from, std::int64_t to, std::int64_t begin, std::int64_t count,
                     Border border, std::vector<Place>& places) {
    const double scale = 1.0 / (double(to) / double(from));
    const std::int64_t last = from - 1;
    places.resize(std::size_t(count));
    for (std::int64_t i = 0; i < count; ++i) {
        const auto exact = float((double(begin + i) + 0.5) * scale - 0.5);
        const auto first = std::int64_t(std::floor(exact));
        const bool inside = first >= 0 && first < last;
        const float share = inside || border == Border::twice ? exact - float(first) : 0;
        places[std::size_t(i)] = {std::int32_t(std::clamp<std::int64_t>(first, 0, last)),
                                  std::int32_t(std::clamp<std::int64_t>(first + 1, 0, last)),
                                  std::int32_t(std::nearbyint((1 - share) * kOne)),
                                  std::int32_t(std::nearbyint(share * kOne))};
    }
}

template <int kChannels>
void resize_row(const std::uint8_t* row, const std::vector<Place>& places, std::int32_t* out) {
    for (const Place& place : places) {
        const std::uint8_t* first = row + std::int64_t(place.first) * kChannels;
        const std::uint8_t* second = row + std::int64_t(place.second) * kChannels;
        for (int c = 0; c < kChannels; ++c)
            *out++ = first[c] * place.of_first + second[c] * place.of_second;
    }
}

// A row resized across, kept under its number: the next line of the result often needs it again.
struct ResizedRow {
    std::vector<std::int32_t>* values;
    std::int64_t number = -1;
};

}  // namespace

void resize_bilinear(const ImageView& source, const ResizeTarget& target, bool mirror,
                     Image& result, BilinearWorkspace& workspace) {
    const auto& [width, height, left, top, part_width, part_height] = target;
    if (source.width < 1 || source.height < 1 || part_width < 1 || part_height < 1 || left < 0 ||
        top < 0 || left + part_width > width || top + part_height > height)
        throw Error(fmt::format("resize: expected a part inside {}x{}, found {}x{} at ({}, {})",
                                width, height, part_width, part_height, left, top));
    reshape(result, part_width, part_height, source.channels);
    bilinear_places(source.width, width, left, part_width, Border::alone, workspace.across);
    bilinear_places(source.height, height, top, part_height, Border::twice, workspace.down);
    if (mirror) std::ranges::reverse(workspace.across);
    const auto values = std::size_t(part_width * source.channels);
    workspace.upper.resize(values);
    workspace.lower.resize(values);
    ResizedRow upper{&workspace.upper}, lower{&workspace.lower};
    const auto fill = [&](ResizedRow& row, std::int64_t number) {
        if (row.number == number) return;
        row.number = number;
        (source.channels == 3 ? resize_row<3> : resize_row<1>)(source.row(number), workspace.across,
                                                               row.values->data());
    };
    for (std::int64_t y = 0; y < part_height; ++y) {
        const Place& place = workspace.down[std::size_t(y)];
        if (lower.number == place.first) std::swap(upper, lower);
        fill(upper, place.first);
        fill(lower, place.second);
        const std::int32_t* a = upper.values->data();
        const std::int32_t* b = lower.values->data();
        std::uint8_t* out = result.row(y);
        for (std::size_t i = 0; i < values; ++i)
            out[i] = std::uint8_t((((place.of_first * (a[i] >> 4)) >> 16) +
                                   ((place.of_second * (b[i] >> 4)) >> 16) + 2) >>
                                  2);
    }
}

void nearest_places(std::int64_t from, std::int64_t to, std::int64_t begin, std::int64_t count,
                    std::vector<std::int32_t>& places) {
    const double scale = 1.0 / (double(to) / double(from));
    places.resize(std::size_t(count));
    for (std::int64_t i = 0; i < count; ++i)
        places[std::size_t(i)] =
            std::int32_t(std::min(std::int64_t(std::floor(double(begin + i) * scale)), from - 1));
}

}  // namespace cait
