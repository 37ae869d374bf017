// Weights and inputs of the golden tests as a pure function of name and index, so that none have to
// be stored. `pattern.py` is the same function for the reference; the two agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "cait/tensor.h"

namespace cait::golden {

struct Spread {
    double center = 0;
    double radius = 0;  // values lie in [center - radius, center + radius)
};

// Keeps activations near unit size through any depth: by fan-in for matrices, by role otherwise.
inline Spread spread_of(std::string_view name, const Shape& shape) {
    const std::string_view last = name.substr(name.rfind('.') + 1);  // npos + 1 == 0
    if (name.ends_with("cls_token") || name.ends_with("dist_token") ||
        name.ends_with("pos_embed")) {
        return {0, 0.5};
    }
    if (last.starts_with("gamma")) return {0.5, 0.4};
    if (name.ends_with("running_var")) return {1, 0.5};
    if (name.ends_with("running_mean")) return {0, 0.3};
    if (name == "input") return {0, 1.7};
    if (shape.rank() >= 2) {
        double fan_in = 1;
        for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
            fan_in *= double(shape[std::int64_t(axis)]);
        }
        return {0, std::sqrt(3 / fan_in)};
    }
    if (shape.rank() == 1 && (last == "weight" || last == "alpha")) return {1, 0.3};
    return {0, 0.2};
}

// FNV-1a, 64 bits.
inline std::uint64_t hash_of(std::string_view name) noexcept {
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (const char letter : name) {
        hash = (hash ^ std::uint8_t(letter)) * 0x100000001B3u;
    }
    return hash;
}

// The SplitMix64 step, seen as a function of its counter; the result lies in [-1, 1).
inline double uniform(std::uint64_t hash, std::uint64_t index) noexcept {
    std::uint64_t z = hash + (index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return double(z >> 40) * 0x1p-23 - 1;
}

// `name` is the official parameter name, or "input" for the images (NCHW).
inline Tensor pattern(const std::string& name, const Shape& shape) {
    Tensor tensor = Tensor::empty(DType::f32, shape);
    const auto [center, radius] = spread_of(name, shape);
    const std::uint64_t hash = hash_of(name);
    std::uint64_t index = 0;
    for (float& value : tensor.mutable_floats()) {
        // Volatile, because a fused multiply-add would round differently from the reference.
        const volatile double offset = radius * uniform(hash, index++);
        value = float(center + offset);
    }
    return tensor;
}

}  // namespace cait::golden
