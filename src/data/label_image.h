// The answer to a whole image, pixel by pixel: the class of each, or that nobody has said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cait {

inline constexpr std::uint8_t kIgnored = 255;  // a pixel that is neither learned from nor judged
inline constexpr std::size_t kMostPixelClasses = 255;

struct LabelImage {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::vector<std::uint8_t> values;  // (height, width), classes or kIgnored

    const std::uint8_t* row(std::int64_t y) const { return values.data() + y * width; }
    bool operator==(const LabelImage&) const = default;
};

}  // namespace cait
