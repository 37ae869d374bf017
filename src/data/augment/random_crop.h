// Which part of a training image is shown, as pure functions of the image's size and the random
// numbers; cutting it out is the train transform's work.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace cait {

struct Rectangle {
    std::int64_t left = 0;
    std::int64_t top = 0;
    std::int64_t width = 0;
    std::int64_t height = 0;
    bool operator==(const Rectangle&) const = default;
};

struct Interval {
    double low = 0;
    double high = 0;
    bool operator==(const Interval&) const = default;
};

// Random resized crop (Szegedy et al. 2014): an area and an aspect ratio are drawn up to ten times
// until the rectangle fits; failing that, the largest central one with an allowed ratio.
struct RandomResizedCrop {
    Interval scale{0.08, 1.0};         // share of the image's area, uniform
    Interval ratio{3.0 / 4, 4.0 / 3};  // width / height, uniform in its logarithm

    void check() const;  // throws UsageError
    Rectangle choose_rectangle(std::int64_t width, std::int64_t height, RandomStream& random) const;
    bool operator==(const RandomResizedCrop&) const = default;
};

// Where a crop of the given size starts in an image with `padding` pixels around it; counted from
// the image's own corner, so from -padding on. Throws Error when the crop does not fit.
Rectangle random_crop(std::int64_t width, std::int64_t height, std::int64_t crop_width,
                      std::int64_t crop_height, std::int64_t padding, RandomStream& random);

}  // namespace cait
