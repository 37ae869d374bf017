// 3-Augment of DeiT III (Touvron et al. 2022): grey, solarised or blurred, each as likely as the
// others; or some of the three, as in the paper's ablation.
#pragma once

#include <string_view>

#include "base/philox.h"
#include "data/augment/operation.h"
#include "data/augment/random_crop.h"

namespace cait {

struct ThreeAugment {
    static constexpr double kThreshold = 128;
    static constexpr Interval kRadius{0.1, 2.0};

    bool grey = true;
    bool solarize = true;
    bool blur = true;

    // "three", or with what is drawn: "three-grey-blur". Throws UsageError.
    static ThreeAugment parse(std::string_view text);

    OperationList draw(RandomStream& random) const;
    bool operator==(const ThreeAugment&) const = default;
};

}  // namespace cait
