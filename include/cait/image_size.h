// Height and width of the images that a model takes.
#pragma once

#include <cstdint>

namespace cait {

struct ImageSize {
    std::int64_t height = 224;
    std::int64_t width = 224;
    bool operator==(const ImageSize&) const = default;
};

}  // namespace cait
