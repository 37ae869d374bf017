// What texts add: rows of a table, triangles, and the positions of pieces.
#include <algorithm>
#include <cmath>

#include "graph/ops/support.h"

namespace cait::op {

Shape Embedding::infer(Shapes in) const {
    expect_count(kName, in, 2, 2);
    expect_rank(kName, "a table", in[1], 2);
    if (in[1].has_batch() || in[1].count() == 0)
        reject(kName, "expected a table that all ids share, got {}", in[1].to_string());
    std::vector<std::int64_t> extents = in[0].extents();
    extents.push_back(in[1][1]);
    return Shape(std::move(extents));
}

Tensor Embedding::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t dim = in[1].shape()[1];
    const float* table = in[1].floats().data();  // (V, D)
    float* row = result.mutable_floats().data();
    for (const std::int64_t id : in[0].integers()) row = std::copy_n(table + id * dim, dim, row);
    return result;
}

std::int64_t Triangular::kept(std::int64_t row, std::int64_t columns) const {
    return std::clamp<std::int64_t>(row + diagonal + 1, 0, columns);
}

Shape Triangular::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    const std::size_t matrix = in[0].has_batch() ? 3 : 2;
    if (in[0].rank() < matrix)
        reject(kName, "expected rows and columns, got {}", in[0].to_string());
    if (!std::isfinite(fill)) reject(kName, "expected a finite number to fill with, got {}", fill);
    const std::int64_t most = std::max(in[0][-2], in[0][-1]);
    if (diagonal < -most || diagonal > most)
        reject(kName, "expected a diagonal of {}, got {}", in[0].to_string(), diagonal);
    return in[0];
}

std::string Triangular::attributes() const {
    const std::string text = fmt::format("fill={:.6g}", fill);
    return diagonal == 0 ? text : fmt::format("{} diagonal={}", text, diagonal);
}

Tensor Triangular::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t columns = shape[-1], rows = shape[-2];
    const float* x = in[0].floats().data();
    float* y = result.mutable_floats().data();
    for (std::int64_t row = 0; row < shape.count() / std::max<std::int64_t>(1, columns); ++row) {
        const std::int64_t keep = kept(row % rows, columns);
        std::copy_n(x + row * columns, keep, y + row * columns);
        std::fill_n(y + row * columns + keep, columns - keep, float(fill));
    }
    return result;
}

// In float32, as the public code computes them: at place 250 the last bits of an angle are seen.
std::vector<float> Sinusoids::frequencies() const {
    std::vector<float> result(std::size_t(dim / 2));
    const auto step = float(-std::log(10000.0) / double(dim / 2 - 1));
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = float(std::exp(double(float(i) * step)));
    return result;
}

void Sinusoids::write_row(std::int64_t place, std::span<const float> frequencies,
                          float* row) const {
    const auto position = float(double(place) + double(first));
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const auto angle = double(position * frequencies[i]);
        row[i] = float(std::sin(angle));
        row[frequencies.size() + i] = float(std::cos(angle));
    }
}

Shape Sinusoids::infer(Shapes in) const {
    expect_count(kName, in, 0, 1);
    if (dim < 4 || dim % 2 != 0) reject(kName, "expected an even width of at least 4, got {}", dim);
    if (in.empty() && count < 1) reject(kName, "expected at least one place, got {}", count);
    if (in.empty()) return {count, dim};
    std::vector<std::int64_t> extents = in[0].extents();
    extents.push_back(dim);
    return Shape(std::move(extents));
}

std::string Sinusoids::attributes() const {
    const std::string text = fmt::format("dim={} first={}", dim, first);
    return count == 0 ? text : fmt::format("{} count={}", text, count);
}

Tensor Sinusoids::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::vector<float> by_column = frequencies();
    float* row = result.mutable_floats().data();
    for (std::int64_t i = 0; i < shape.count() / dim; ++i)
        write_row(in.empty() ? i : in[0].integers()[std::size_t(i)], by_column, row + i * dim);
    return result;
}

}  // namespace cait::op
