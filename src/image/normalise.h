// From 8-bit pixels to the floats that a model reads: (value / 255 - mean) / std, in planes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

using ChannelValues = std::array<float, 3>;  // red, green, blue; grey uses the first

inline constexpr ChannelValues kImageNetMean{0.485F, 0.456F, 0.406F};
inline constexpr ChannelValues kImageNetStd{0.229F, 0.224F, 0.225F};

// The mean as a pixel colour, which is what augmentation fills holes with.
Colour mean_colour(const ChannelValues& mean);

// There are only 256 values per channel, so the result is looked up: as fast as multiplying, and
// equal to torchvision's two divisions to the last bit.
class Normaliser {
public:
    // Throws UsageError when a std is not positive.
    Normaliser(const ChannelValues& mean, const ChannelValues& std);

    // `out` is (channels, height, width); a grey image also fills three channels.
    void apply(const Image& image, std::span<float> out) const;

private:
    std::array<std::array<float, 256>, 3> tables_{};
};

}  // namespace cait
