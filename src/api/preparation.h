// A model's preprocessing as something that can be applied.
#pragma once

#include "cait/model.h"
#include "data/evaluation_transform.h"
#include "graph/graph.h"

namespace cait {

// Throws UsageError that names the field when one is out of its range.
EvaluationTransform evaluation_transform(const Preprocessing& preprocessing, ImageSize size);

}  // namespace cait
