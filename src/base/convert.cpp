#include "base/convert.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "cait/error.h"

namespace cait {

float bfloat16_to_float(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(std::uint32_t(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return std::uint16_t((bits >> 16) | 0x40);  // keep it a quiet NaN
    const std::uint32_t round = 0x7fff + ((bits >> 16) & 1);
    return std::uint16_t((bits + round) >> 16);
}

float half_to_float(std::uint16_t bits) noexcept {
    const std::uint32_t sign = std::uint32_t(bits & 0x8000) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1f;
    const std::uint32_t mantissa = bits & 0x3ff;
    if (exponent == 0) {  // zero or subnormal: mantissa × 2^-24
        const float magnitude = float(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t wide = exponent == 31 ? 0x7f800000 : (exponent + 112) << 23;
    return std::bit_cast<float>(sign | wide | (mantissa << 13));
}

std::uint16_t float_to_half(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = std::uint16_t((bits >> 16) & 0x8000);
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return std::uint16_t(sign | 0x7e00);
    if (magnitude >= 65520.0F) return std::uint16_t(sign | 0x7c00);  // rounds to infinity
    if (magnitude < 0x1p-14F)  // subnormal: nearbyint rounds to nearest even
        return std::uint16_t(sign | std::uint16_t(std::nearbyint(magnitude * 0x1p24F)));
    const std::uint32_t rounded = (bits & 0x7fffffff) + 0xfff + ((bits >> 13) & 1);
    return std::uint16_t(sign | ((rounded >> 13) - (112U << 10)));
}

bool is_floating(DType dtype) noexcept {
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 ||
           dtype == DType::f64;
}

namespace {

template <class T>
T load(const std::byte* from, std::int64_t index) {
    T value;
    std::memcpy(&value, from + std::size_t(index) * sizeof(T), sizeof(T));
    return value;
}

double read_number(const std::byte* from, DType dtype, std::int64_t i) {
    switch (dtype) {
        case DType::f32: return load<float>(from, i);
        case DType::f64: return load<double>(from, i);
        case DType::f16: return half_to_float(load<std::uint16_t>(from, i));
        case DType::bf16: return bfloat16_to_float(load<std::uint16_t>(from, i));
        case DType::i8: return load<std::int8_t>(from, i);
        case DType::i16: return load<std::int16_t>(from, i);
        case DType::i32: return load<std::int32_t>(from, i);
        case DType::i64: return double(load<std::int64_t>(from, i));
        case DType::u8:
        case DType::boolean: return load<std::uint8_t>(from, i);
    }
    return 0;
}

template <class T, class Convert>
void fill(Tensor& target, const Tensor& source, Convert convert_one) {
    auto* out = reinterpret_cast<T*>(target.mutable_bytes().data());
    for (std::int64_t i = 0; i < source.count(); ++i)
        out[i] = convert_one(read_number(source.bytes(), source.dtype(), i));
}

}  // namespace

Tensor convert(const Tensor& tensor, DType dtype) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.bytes()) % size_of(dtype) == 0;
    if (tensor.dtype() == dtype && aligned) return tensor;

    Tensor result = Tensor::empty(dtype, tensor.shape());
    if (tensor.dtype() == dtype) {
        std::memcpy(result.mutable_bytes().data(), tensor.bytes(), tensor.byte_size());
        return result;
    }
    switch (dtype) {
        case DType::f32:
            fill<float>(result, tensor, [](double v) { return float(v); });
            return result;
        case DType::f64: fill<double>(result, tensor, [](double v) { return v; }); return result;
        case DType::f16:
            fill<std::uint16_t>(result, tensor, [](double v) { return float_to_half(float(v)); });
            return result;
        case DType::bf16:
            fill<std::uint16_t>(result, tensor,
                                [](double v) { return float_to_bfloat16(float(v)); });
            return result;
        default:
            throw Error(
                fmt::format("cannot convert {} to {}", name_of(tensor.dtype()), name_of(dtype)));
    }
}

}  // namespace cait
