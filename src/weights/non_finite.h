// Finds NaN and infinity in weights, which would turn every later result into NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cait/tensor.h"

namespace cait {

struct NonFinite {
    std::int64_t index = 0;
    float value = 0;
};

std::optional<NonFinite> first_non_finite(const Tensor& tensor);  // float32

// A number that another format of floating-point numbers turned into infinity.
struct Overflow {
    std::int64_t index = 0;
    double value = 0;
};

// The first finite value of `original` that is not finite in `converted`, which has its shape.
std::optional<Overflow> first_overflow(const Tensor& original, const Tensor& converted);

std::string index_text(const Shape& shape, std::int64_t flat);  // "[3, 17]"

}  // namespace cait
