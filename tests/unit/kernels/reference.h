// The kernels once more in double precision, written for reading: what the fast ones are held
// against. Gradients are checked along random directions, by differences of these.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

namespace cait::test {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

inline Floats random_floats(std::int64_t count, unsigned seed, double deviation = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal(0, deviation);
    Floats values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(float(normal(generator)));
    return values;
}

inline float widened(std::uint16_t bfloat16) {
    return std::bit_cast<float>(std::uint32_t(bfloat16) << 16);
}
// To the nearest bfloat16, ties to even.
inline float rounded(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U);
}

inline Doubles widen(std::span<const float> values) { return {values.begin(), values.end()}; }

// x [rows, inputs], weight [outputs, inputs]
inline Doubles linear(const Doubles& x, const Doubles& weight, const Doubles& bias,
                      std::int64_t inputs) {
    const std::int64_t rows = std::int64_t(x.size()) / inputs;
    const std::int64_t outputs = std::int64_t(weight.size()) / inputs;
    Doubles y(std::size_t(rows * outputs));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t o = 0; o < outputs; ++o) {
            double sum = bias.empty() ? 0 : bias[std::size_t(o)];
            for (std::int64_t i = 0; i < inputs; ++i)
                sum += x[std::size_t(r * inputs + i)] * weight[std::size_t(o * inputs + i)];
            y[std::size_t(r * outputs + o)] = sum;
        }
    return y;
}

inline Doubles layer_norm(const Doubles& x, const Doubles& weight, const Doubles& bias,
                          double epsilon) {
    const std::size_t dim = weight.size();
    Doubles y(x.size());
    for (std::size_t row = 0; row < x.size(); row += dim) {
        double mean = 0, variance = 0;
        for (std::size_t c = 0; c < dim; ++c) mean += x[row + c] / double(dim);
        for (std::size_t c = 0; c < dim; ++c)
            variance += (x[row + c] - mean) * (x[row + c] - mean) / double(dim);
        for (std::size_t c = 0; c < dim; ++c)
            y[row + c] = (x[row + c] - mean) / std::sqrt(variance + epsilon) * weight[c] + bias[c];
    }
    return y;
}

inline Doubles gelu(const Doubles& x) {
    Doubles y;
    for (const double v : x) y.push_back(v * 0.5 * std::erfc(-v / std::sqrt(2.0)));
    return y;
}

struct Mix {
    Doubles weight, bias;  // [heads, heads], [heads]; empty without
};

// maps [heads, count]
inline Doubles mix_heads(const Doubles& maps, const Mix& mix) {
    if (mix.weight.empty()) return maps;
    const std::size_t heads = mix.bias.size(), count = maps.size() / heads;
    Doubles mixed(maps.size());
    for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < count; ++i) {
            double sum = mix.bias[h];
            for (std::size_t g = 0; g < heads; ++g)
                sum += mix.weight[h * heads + g] * maps[g * count + i];
            mixed[h * count + i] = sum;
        }
    return mixed;
}

inline void softmax(std::span<double> row) {
    double total = 0;
    for (double& v : row) total += v = std::exp(v);
    for (double& v : row) v /= total;
}

// Of a text: which keys count (empty: all), and whether query i sees keys up to first + i only.
struct Seen {
    Floats mask;
    bool causal = false;
    std::size_t first = 0;

    bool sees(std::size_t query, std::size_t key) const {
        return (mask.empty() || mask[key] == 1) && (!causal || key <= first + query);
    }
};

// The softmax of what a query sees; of a query that sees nothing the mean.
inline void softmax(std::span<double> row, const Seen& seen, std::size_t query) {
    double total = 0;
    for (std::size_t key = 0; key < row.size(); ++key)
        total += row[key] = seen.sees(query, key) ? std::exp(row[key]) : 0;
    for (double& v : row) v = total > 0 ? v / total : 1 / double(row.size());
}

// One image: q [queries, dim], k and v [keys, dim] → [queries, dim]
inline Doubles attention(const Doubles& q, const Doubles& k, const Doubles& v, std::size_t heads,
                         std::size_t dim, double scale, const Mix& before, const Mix& after,
                         const Seen& seen = {}) {
    const std::size_t queries = q.size() / dim, keys = k.size() / dim, each = dim / heads;
    Doubles maps(heads * queries * keys);
    for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < queries; ++i)
            for (std::size_t j = 0; j < keys; ++j)
                for (std::size_t d = h * each; d < (h + 1) * each; ++d)
                    maps[(h * queries + i) * keys + j] += scale * q[i * dim + d] * k[j * dim + d];
    maps = mix_heads(maps, before);
    for (std::size_t row = 0; row < heads * queries; ++row)
        softmax(std::span(maps).subspan(row * keys, keys), seen, row % queries);
    maps = mix_heads(maps, after);
    Doubles output(q.size());
    for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < queries; ++i)
            for (std::size_t j = 0; j < keys; ++j)
                for (std::size_t d = h * each; d < (h + 1) * each; ++d)
                    output[i * dim + d] += maps[(h * queries + i) * keys + j] * v[j * dim + d];
    return output;
}

inline double dot(const Doubles& a, const Doubles& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

inline double largest(const Doubles& values) {
    double most = 0;
    for (const double v : values) most = std::max(most, std::abs(v));
    return most;
}

// The slope of `loss` where `at` moves along a random direction, and what `gradient` says it is.
struct Slopes {
    double by_difference = 0, by_gradient = 0;
    double size = 0;  // of the gradient, times that of the direction
};
inline Slopes slopes(Doubles& at, std::span<const float> gradient,
                     const std::function<double()>& loss, unsigned seed) {
    const Doubles direction = widen(random_floats(std::int64_t(at.size()), seed));
    const Doubles start = at, wide = widen(gradient);
    const auto moved = [&](double by) {
        for (std::size_t i = 0; i < at.size(); ++i) at[i] = start[i] + by * direction[i];
        return loss();
    };
    const double step = 1e-5;
    const double difference = (moved(step) - moved(-step)) / (2 * step);
    at = start;
    return {difference, dot(wide, direction),
            std::sqrt(dot(wide, wide) * dot(direction, direction))};
}

}  // namespace cait::test
