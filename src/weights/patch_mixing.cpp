#include "weights/patch_mixing.h"

#include <fmt/format.h>

#include "base/convert.h"
#include "cait/error.h"
#include "weights/position_embedding.h"

namespace cait {

namespace {

struct Resize {
    std::int64_t from_h, from_w, to_h, to_w;
};

// [rows, columns], float32, to another grid of rows.
Tensor resize_rows(const Tensor& matrix, const Resize& r) {
    const std::int64_t columns = matrix.shape()[1];
    return resize_position_embedding(matrix.reshaped({1, matrix.shape()[0], columns}), 0, r.from_h,
                                     r.from_w, r.to_h, r.to_w)
        .reshaped({r.to_h * r.to_w, columns});
}

Tensor transposed(const Tensor& matrix, float factor) {
    const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
    Tensor result = Tensor::empty(DType::f32, {columns, rows});
    const float* source = matrix.floats().data();
    float* target = result.mutable_floats().data();
    for (std::int64_t y = 0; y < rows; ++y)
        for (std::int64_t x = 0; x < columns; ++x)
            target[x * rows + y] = factor * source[y * columns + x];
    return result;
}

}  // namespace

Tensor resize_patch_mixing(const Tensor& mixing, std::int64_t from_h, std::int64_t from_w,
                           std::int64_t to_h, std::int64_t to_w, const Shape& target) {
    const Shape& shape = mixing.shape();
    const std::int64_t from = from_h * from_w, to = to_h * to_w;
    const auto is_grid = [&](std::int64_t axis) {
        return shape[axis] == from && target[axis] == to;
    };
    const auto fits = [&](std::int64_t axis) {
        return is_grid(axis) || shape[axis] == target[axis];
    };
    const bool grids = from_h > 0 && from_w > 0 && to_h > 0 && to_w > 0;
    const bool ranks = shape.rank() == target.rank() && (shape.rank() == 1 || shape.rank() == 2);
    if (!grids || !ranks || !fits(0) || !fits(-1))
        throw Error(
            fmt::format("patch mixing: expected weights over {}x{} patches to resize to {}x{} "
                        "as {}, found {}",
                        from_h, from_w, to_h, to_w, target.to_string(), shape.to_string()));

    Tensor result = convert(mixing, DType::f32);
    if (from_h == to_h && from_w == to_w) return result;
    const Resize resize{from_h, from_w, to_h, to_w};
    result = result.reshaped({shape[0], shape.rank() == 2 ? shape[1] : 1});
    if (is_grid(0)) result = resize_rows(result, resize);
    if (shape.rank() == 2 && is_grid(1))
        result = transposed(resize_rows(transposed(result, 1), resize), float(from) / float(to));
    return result.reshaped(target);
}

}  // namespace cait
