// A model's preprocessing as something that can be applied.
#pragma once

#include "cait/model.h"
#include "core/image_size.h"
#include "prepare/evaluation_transform.h"

namespace cait {

// Throws UsageError that names the field when one is out of its range.
EvaluationTransform evaluation_transform(const Preprocessing& preprocessing, ImageSize size);

}  // namespace cait
