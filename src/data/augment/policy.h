// The automatic augmentation of a recipe, by its name: "rand-m9-mstd0.5-inc1", "original",
// "trivial", "three", "three-grey-blur" or "none".
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/philox.h"
#include "data/augment/operation.h"
#include "data/augment/random_crop.h"

namespace cait {

// RandAugment (Cubuk et al. 2019) with timm's syntax, as in "rand-m9-mstd0.5-inc1": a few
// operations drawn from one list, all at the same magnitude.
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

// AutoAugment (Cubuk et al. 2018): one of 25 learned pairs of operations, with timm's names for the
// variants of the ImageNet policy.
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

// TrivialAugment in its wide form (Müller and Hutter 2021), as in torchvision: one operation per
// image, at one of 31 strengths.
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

// 3-Augment of DeiT III (Touvron et al. 2022): grey, solarised or blurred, each as likely as the
// others; or some of the three, as in the paper's ablation.
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

using Policy = std::variant<std::monostate, RandAugment, AutoAugment, TrivialAugment, ThreeAugment>;

// Throws UsageError that names what it does not know.
Policy parse_policy(std::string_view text);

// What the policy does to the image that the stream belongs to.
OperationList draw(const Policy& policy, RandomStream& random);

// Draws and applies; returns what it drew. `style` is the recipe's; TrivialAugment has its own.
OperationList apply(const Policy& policy, const OperationStyle& style, RandomStream& random,
                    Image& image, OperationWorkspace& workspace);

// Whether colour jitter stays on beside the policy: with none, and with 3-Augment.
bool keeps_jitter(const Policy& policy);

}  // namespace cait
