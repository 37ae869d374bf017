// RandAugment (Cubuk et al. 2019) with timm's syntax, as in "rand-m9-mstd0.5-inc1": a few
// operations drawn from one list, all at the same magnitude.
#pragma once

#include <string>
#include <string_view>

#include "base/philox.h"
#include "data/augment/operation.h"

namespace cait {

struct RandAugment {
    enum class Set {
        standard,
        weights,        // mostly geometric operations
        three,          // 3a: solarise, desaturate and blur
        three_weights,  // 3aw: these more often than the others
    };

    int magnitude = 10;        // m
    int layers = 2;            // n: operations per image
    double probability = 0.5;  // p: of each of them
    double magnitude_std = 0;  // mstd: above 100 the magnitude is uniform in [0, m]
    int magnitude_max = 10;    // mmax: drawn magnitudes are clipped to [0, this]
    bool increasing = false;   // inc: severity grows with the magnitude
    Set set = Set::standard;   // t

    // Throws UsageError that names the section which it does not understand.
    static RandAugment parse(std::string_view text);

    // One entry per layer; `identity` for a layer that is left out.
    OperationList draw(RandomStream& random) const;
    bool operator==(const RandAugment&) const = default;
};

}  // namespace cait
