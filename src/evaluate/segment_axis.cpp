#include "evaluate/segment_axis.h"

#include <algorithm>
#include <cmath>

namespace cait {

namespace {

// The two values that a pixel lies between.
struct Between {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    double share = 0;  // of the upper one
};

Between between(std::int64_t place, std::int64_t from, std::int64_t to) {
    const double source = std::max((double(place) + 0.5) * double(from) / double(to) - 0.5, 0.0);
    const auto lower = std::min(std::int64_t(source), from - 1);
    return {lower, std::min(lower + 1, from - 1), source - double(lower)};
}

void add_tap(std::vector<AxisTap>& taps, std::int64_t window, std::int64_t cell, double weight) {
    if (weight == 0) return;
    const auto same = std::ranges::find_if(
        taps, [&](const AxisTap& tap) { return tap.window == window && tap.cell == cell; });
    if (same != taps.end())
        same->weight += float(weight);
    else
        taps.push_back({std::int32_t(window), std::int32_t(cell), float(weight)});
}

// What a pixel of the network's input is made of, times `weight`.
void add_input_pixel(std::vector<AxisTap>& taps, const WindowAxis& windows, std::int64_t pixel,
                     double weight) {
    if (weight == 0) return;
    const auto covers = [&](std::int64_t start) {
        return pixel >= start && pixel < start + windows.shown;
    };
    const double each = weight / double(std::ranges::count_if(windows.starts, covers));
    for (std::size_t i = 0; i < windows.starts.size(); ++i) {
        if (!covers(windows.starts[i])) continue;
        const Between cells = between(pixel - windows.starts[i], windows.cells, windows.enlarged);
        add_tap(taps, std::int64_t(i), cells.lower, each * (1 - cells.share));
        add_tap(taps, std::int64_t(i), cells.upper, each * cells.share);
    }
}

}  // namespace

std::vector<std::int64_t> window_starts(std::int64_t size, std::int64_t window,
                                        std::int64_t stride) {
    const std::int64_t count = std::max(size - window + stride - 1, std::int64_t(0)) / stride + 1;
    std::vector<std::int64_t> starts;
    for (std::int64_t i = 0; i < count; ++i)
        starts.push_back(std::max(std::min(i * stride, size - window), std::int64_t(0)));
    return starts;
}

AxisMap::AxisMap(const WindowAxis& windows, std::int64_t input, std::int64_t output, bool mirror) {
    first_.push_back(0);
    std::vector<AxisTap> taps;
    for (std::int64_t i = 0; i < output; ++i) {
        const Between pixels = between(mirror ? output - 1 - i : i, input, output);
        taps.clear();
        add_input_pixel(taps, windows, pixels.lower, 1 - pixels.share);
        add_input_pixel(taps, windows, pixels.upper, pixels.share);
        taps_.insert(taps_.end(), taps.begin(), taps.end());
        first_.push_back(taps_.size());
    }
}

}  // namespace cait
