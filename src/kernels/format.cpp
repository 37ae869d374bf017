#include "kernels/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cait::kernels {

float float_to_float(const void* element) {
    float value;
    std::memcpy(&value, element, sizeof value);
    return value;
}
void float_from_float(float value, void* element) { std::memcpy(element, &value, sizeof value); }

float bfloat16_to_float(const void* element) {
    BFloat16 half;
    std::memcpy(&half, element, sizeof half);
    return std::bit_cast<float>(std::uint32_t(half.bits) << 16);
}
void bfloat16_from_float(float value, void* element) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = value != value;  // rounding up could turn it into infinity
    const std::uint32_t rounded = is_nan ? bits | 0x400000U : bits + 0x7FFFU + (bits >> 16 & 1U);
    const BFloat16 half{std::uint16_t(rounded >> 16)};
    std::memcpy(element, &half, sizeof half);
}

const FormatRow& row_of(Precision precision) {
    return *std::ranges::find(kFormats, precision, &FormatRow::precision);
}

const FormatRow* format_named(const char* name) {
    for (const FormatRow& row : kFormats)
        if (std::strcmp(row.name, name) == 0) return &row;
    return nullptr;
}

}  // namespace cait::kernels
