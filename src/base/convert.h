// Conversions between number formats; the half formats are plain bit patterns here.
#pragma once

#include <cstdint>

#include "cait/tensor.h"

namespace cait {

float half_to_float(std::uint16_t bits) noexcept;
float bfloat16_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_half(float value) noexcept;      // round to nearest even
std::uint16_t float_to_bfloat16(float value) noexcept;  // round to nearest even

bool is_floating(DType dtype) noexcept;

// The tensor in another dtype; returned as it is, still mapped, when nothing has to change and its
// memory is aligned for that dtype. Throws Error for pairs that are not number conversions.
Tensor convert(const Tensor& tensor, DType dtype);

}  // namespace cait
