// AutoAugment (Cubuk et al. 2018): one of 25 learned pairs of operations, with timm's names for the
// variants of the ImageNet policy.
#pragma once

#include <string>
#include <string_view>

#include "base/philox.h"
#include "data/augment/operation.h"

namespace cait {

struct AutoAugment {
    enum class Table {
        original,   // the paper's
        originalr,  // the same, posterising more with a higher magnitude
        v0,         // EfficientNet's
        v0r,
    };

    Table table = Table::original;
    double magnitude_std = 0;

    // "original", "v0-mstd0.5", …; throws UsageError.
    static AutoAugment parse(std::string_view text);
    static bool knows(std::string_view name);  // whether a policy of that name is one of these

    OperationList draw(RandomStream& random) const;
    bool operator==(const AutoAugment&) const = default;
};

}  // namespace cait
