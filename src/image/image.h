// An 8-bit image in memory: rows from top to bottom, channels interleaved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cait {

struct Image {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t channels = 3;         // 3: RGB, 1: grey
    std::vector<std::uint8_t> pixels;  // (height, width, channels)

    static Image blank(std::int64_t width, std::int64_t height, std::int64_t channels) {
        return {width, height, channels,
                std::vector<std::uint8_t>(std::size_t(width * height * channels))};
    }

    std::uint8_t* row(std::int64_t y) { return pixels.data() + y * width * channels; }
    const std::uint8_t* row(std::int64_t y) const { return pixels.data() + y * width * channels; }
    bool operator==(const Image&) const = default;
};

}  // namespace cait
