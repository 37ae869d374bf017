#include "kernels/format.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

float byte_to_float(const void* element) {
    QuantizedByte byte;
    std::memcpy(&byte, element, sizeof byte);
    return float(byte.bits) - 128;
}
void byte_from_float(float value, void* element) {
    const float inside = value == value ? std::clamp(value, -127.0F, 127.0F) : 0;
    const QuantizedByte byte{std::uint8_t(std::lrintf(inside) + 128)};
    std::memcpy(element, &byte, sizeof byte);
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
