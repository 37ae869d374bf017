// The automatic augmentation of a recipe, by its name: "rand-m9-mstd0.5-inc1", "original",
// "trivial", "three", "three-grey-blur" or "none".
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "data/augment/auto_augment.h"
#include "data/augment/rand_augment.h"
#include "data/augment/three_augment.h"
#include "data/augment/trivial_augment.h"

namespace cait {

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
