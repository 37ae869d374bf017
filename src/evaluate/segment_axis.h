// Along one axis of an image: which windows a network sees of it, and how the maps of logits that
// it gives are brought back to the pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cait {

// Where windows start that cover `size` pixels, `stride` apart; the last one is moved inside.
// A single one at 0 where the window is not smaller.
std::vector<std::int64_t> window_starts(std::int64_t size, std::int64_t window,
                                        std::int64_t stride);

// The windows of one axis, all alike.
struct WindowAxis {
    std::vector<std::int64_t> starts = {0};
    std::int64_t cells = 0;     // of the map that the network gives for a window
    std::int64_t enlarged = 0;  // pixels of the network's input that these become
    std::int64_t shown = 0;     // of these, from the first on, that lie inside the image
};

// A share of a value of some window's map.
struct AxisTap {
    std::int32_t window = 0;
    std::int32_t cell = 0;
    float weight = 0;
    bool operator==(const AxisTap&) const = default;
};

// For every pixel of a result, what it is made of. Both enlargements (map to network input, that to
// the result) are bilinear as F.interpolate(align_corners=False), and windows are averaged where
// they overlap; all that is linear, so that it is one sum of a few products.
class AxisMap {
public:
    // `input`: pixels of the resized image along this axis; `output`: of the result. With `mirror`
    // the network saw the image from right to left.
    AxisMap(const WindowAxis& windows, std::int64_t input, std::int64_t output,
            bool mirror = false);

    std::int64_t size() const { return std::int64_t(first_.size()) - 1; }
    std::span<const AxisTap> at(std::int64_t place) const {
        return std::span(taps_).subspan(first_[std::size_t(place)], first_[std::size_t(place) + 1] -
                                                                        first_[std::size_t(place)]);
    }

private:
    std::vector<std::size_t> first_;
    std::vector<AxisTap> taps_;
};

}  // namespace cait
