// How a parameter starts when it is not read from a file. Models only say it; walkers/ does it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace cait {

struct Init {
    enum class Kind {
        constant,
        normal,        // N(0, a²)
        trunc_normal,  // N(0, a²) cut at the absolute bounds ±2, as the reference code does
        uniform,       // [a, b)
        sincos2d,      // fixed two-dimensional sine-cosine position embedding
        embedding,     // N(0, a²), but row b of the first axis is zero
        stacked,       // equal parts along the first axis, each with its own rule
    };

    Kind kind = Kind::constant;
    double a = 0;
    double b = 0;
    std::vector<Init> parts;

    static Init constant(double value) { return {Kind::constant, value, 0, {}}; }
    static Init zeros() { return constant(0); }
    static Init ones() { return constant(1); }
    static Init normal(double std) { return {Kind::normal, std, 0, {}}; }
    static Init trunc_normal(double std) { return {Kind::trunc_normal, std, 0, {}}; }
    static Init uniform(double low, double high) { return {Kind::uniform, low, high, {}}; }
    static Init sincos2d() { return {Kind::sincos2d, 0, 0, {}}; }
    // Of a table whose row `padding` stands for no piece.
    static Init embedding(double std, std::int64_t padding) {
        return {Kind::embedding, std, double(padding), {}};
    }
    static Init stacked(std::vector<Init> parts) { return {Kind::stacked, 0, 0, std::move(parts)}; }

    // PyTorch's default for convolutions, weight and bias alike.
    static Init fan_in(std::int64_t fan_in) {
        const double bound = 1.0 / std::sqrt(double(fan_in));
        return uniform(-bound, bound);
    }
    // Glorot's uniform rule.
    static Init xavier(std::int64_t fan_in, std::int64_t fan_out, double gain = 1) {
        const double bound = gain * std::sqrt(6.0 / double(fan_in + fan_out));
        return uniform(-bound, bound);
    }
};

}  // namespace cait
