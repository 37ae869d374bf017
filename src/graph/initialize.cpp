#include "graph/initialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "base/quantized.h"
#include "cait/error.h"

namespace cait {

namespace {

float truncated_normal(RandomStream& random, double std) {
    constexpr double kBound = 2.0;
    for (;;) {
        const double value = double(random.normal()) * std;
        if (std::fabs(value) <= kBound) return float(value);
    }
}

// Row of grid point (y, x): [sin(x w), cos(x w), sin(y w), cos(y w)] with w_i = 10000^(-4i/D).
// Rows of class and distillation tokens are zero.
void fill_sincos(std::span<float> out, const ParamSpec& spec) {
    const ParamRole& role = spec.role;
    const std::int64_t dim = spec.shape[-1];
    const std::int64_t quarter = dim / 4;
    std::ranges::fill(out, 0.0F);
    for (std::int64_t y = 0; y < role.grid_height; ++y)
        for (std::int64_t x = 0; x < role.grid_width; ++x) {
            float* row = out.data() + (role.prefix + y * role.grid_width + x) * dim;
            for (std::int64_t i = 0; i < quarter; ++i) {
                const double omega = std::pow(10000.0, -double(i) / double(quarter));
                row[i] = float(std::sin(double(x) * omega));
                row[quarter + i] = float(std::cos(double(x) * omega));
                row[2 * quarter + i] = float(std::sin(double(y) * omega));
                row[3 * quarter + i] = float(std::cos(double(y) * omega));
            }
        }
}

void fill(std::span<float> out, const Init& init, const ParamSpec& spec, RandomStream& random) {
    switch (init.kind) {
        case Init::Kind::constant: std::ranges::fill(out, float(init.a)); return;
        case Init::Kind::normal:
            for (float& value : out) value = float(double(random.normal()) * init.a);
            return;
        case Init::Kind::trunc_normal:
            for (float& value : out) value = truncated_normal(random, init.a);
            return;
        case Init::Kind::uniform:
            for (float& value : out)
                value = float(init.a + (init.b - init.a) * double(random.uniform()));
            return;
        case Init::Kind::sincos2d: fill_sincos(out, spec); return;
        case Init::Kind::embedding: {
            for (float& value : out) value = float(double(random.normal()) * init.a);
            const auto row = std::size_t(spec.shape[-1]);
            std::ranges::fill(out.subspan(std::size_t(init.b) * row, row), 0.0F);
            return;
        }
        case Init::Kind::stacked: {
            const std::size_t part = out.size() / init.parts.size();
            if (part * init.parts.size() != out.size())
                throw Error(fmt::format("{}: shape {} does not split into {} equal parts",
                                        spec.name, spec.shape.to_string(), init.parts.size()));
            for (std::size_t i = 0; i < init.parts.size(); ++i)
                fill(out.subspan(i * part, part), init.parts[i], spec, random);
            return;
        }
    }
}

}  // namespace

Tensor initialize(const ParamSpec& spec, std::uint64_t seed) {
    Tensor tensor = Tensor::empty(DType::f32, spec.shape);
    RandomStream random(seed, spec.name);
    fill(tensor.mutable_floats(), spec.init, spec, random);
    return tensor;
}

WeightMap initialize(const Graph& graph, std::uint64_t seed) {
    WeightMap weights;
    for (const ParamSpec& spec : graph.params) weights.emplace(spec.name, initialize(spec, seed));
    return weights;
}

const Tensor& weight_of(const ParamSpec& spec, const WeightMap& weights) {
    const auto found = weights.find(spec.name);
    if (found == weights.end()) throw Error(fmt::format("[param] no weights for '{}'", spec.name));
    if (found->second.shape() != spec.shape)
        throw Error(fmt::format("[param] {}: expected {}, found {}", spec.name,
                                spec.shape.to_string(), found->second.shape().to_string()));
    return found->second;
}

Tensor float_weight_of(const ParamSpec& spec, const WeightMap& weights) {
    weight_of(spec, weights);  // throws
    return float_tensor(spec.name, weights);
}

}  // namespace cait
