// The open axis of a shape, as it is printed: Shape{B, 3, 4}.
#pragma once

#include "cait/tensor.h"

namespace cait {

inline constexpr std::int64_t B = Shape::kBatch;

}  // namespace cait
