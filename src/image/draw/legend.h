// What the colours of a picture mean, in words below it.
#pragma once

#include <span>
#include <string>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

struct LegendEntry {
    Colour colour{};
    std::string text;
};

// The picture with a line of coloured squares and their texts below, or as many lines as they take.
// Small pictures get a margin to the right. Without entries the picture as it is.
Image with_legend(const Image& picture, std::span<const LegendEntry> entries);

}  // namespace cait
