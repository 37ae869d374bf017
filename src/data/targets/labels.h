// Which classes an image is of, where it may be of any number: a row of zeros and ones.
#pragma once

#include "data/target.h"

namespace cait {

inline constexpr const char* kLabelSets = "label_sets";  // [B, classes] float32

// kLabelSets from Dataset::labels, mixed linearly as the images are.
TargetPtr labels_target(std::int64_t classes);

}  // namespace cait
