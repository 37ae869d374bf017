// TrivialAugment in its wide form (Müller and Hutter 2021), as in torchvision: one operation per
// image, at one of 31 strengths.
#pragma once

#include "base/philox.h"
#include "data/augment/operation.h"

namespace cait {

struct TrivialAugment {
    static constexpr int kOperations = 14;
    static constexpr int kStrengths = 31;

    // Operation number `index` at strength number `strength`; `negative` where it has a sign.
    static OperationCall call(int index, int strength, bool negative);

    // torchvision's defaults: no interpolation, black where there is no image.
    static OperationStyle style() { return {Interpolation::nearest, {0, 0, 0}}; }

    OperationList draw(RandomStream& random) const;
    bool operator==(const TrivialAugment&) const = default;
};

}  // namespace cait
