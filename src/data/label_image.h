// What an image shows, pixel by pixel: the class of each as one byte.
#pragma once

#include <cstdint>
#include <vector>

namespace cait {

struct LabelImage {
    std::int64_t width = 0, height = 0;
    std::vector<std::uint8_t> values;  // (height, width)
};

inline constexpr std::uint8_t kIgnored = 255;  // a pixel without a class

}  // namespace cait
