// Random brightness, contrast, saturation and hue in random order, after torchvision.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/philox.h"
#include "image/image.h"

namespace cait {

struct ColourJitter {
    // Factors are uniform in [max(0, 1 - x), 1 + x]; the hue turns by up to x in [0, 0.5].
    double brightness = 0;
    double contrast = 0;
    double saturation = 0;
    double hue = 0;

    // "0.3" for the first three, "0.4,0.4,0.2" or "0.4,0.4,0.2,0.1"; throws UsageError.
    static ColourJitter parse(std::string_view text);
    bool active() const { return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0; }

    struct Draw {
        std::array<int, 4> order{};       // 0: brightness, 1: contrast, 2: saturation, 3: hue
        std::array<double, 4> factors{};  // in that numbering
    };
    Draw draw(RandomStream& random) const;
    void apply(const Draw& drawn, Image& image) const;
    bool operator==(const ColourJitter&) const = default;
};

}  // namespace cait
