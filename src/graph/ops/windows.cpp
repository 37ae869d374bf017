// Windows over images: pooling, their values laid out (unfold) and summed back (fold), and outlook
// attention, which works between the two.
#include <limits>

#include "graph/builder.h"
#include "graph/ops/support.h"

namespace cait::op {

namespace {

// How many windows fit along one axis.
template <class Op>
std::int64_t windows_of(const Op& op, std::int64_t size, bool ceil = false) {
    if (op.kernel < 1 || op.stride < 1 || op.padding < 0 || 2 * op.padding > op.kernel)
        reject(Op::kName,
               "expected kernel and stride of at least 1 and padding up to half the kernel");
    const std::int64_t room = size + 2 * op.padding - op.kernel;
    if (room < 0)
        reject(Op::kName, "expected at least {} pixels, got {}", op.kernel - 2 * op.padding, size);
    std::int64_t count = (room + (ceil ? op.stride - 1 : 0)) / op.stride + 1;
    // A window that would start beyond the image and its padding does not count.
    if (ceil && (count - 1) * op.stride >= size + op.padding) --count;
    return count;
}

template <class Op>
std::string window_text(const Op& op) {
    return fmt::format("kernel={} stride={} padding={}", op.kernel, op.stride, op.padding);
}

// Calls visit(y, x, ky, kx) for every pixel of the window at (row, column) that lies in the image.
template <class Visit>
void in_window(std::int64_t row, std::int64_t column, const Unfold& window, std::int64_t height,
               std::int64_t width, const Visit& visit) {
    for (std::int64_t ky = 0; ky < window.kernel; ++ky)
        for (std::int64_t kx = 0; kx < window.kernel; ++kx) {
            const std::int64_t y = row * window.stride + ky - window.padding;
            const std::int64_t x = column * window.stride + kx - window.padding;
            if (y >= 0 && y < height && x >= 0 && x < width) visit(y, x, ky, kx);
        }
}

}  // namespace

Shape Pool2d::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    expect_rank(kName, "an image batch", in[0], 4);
    return {in[0][0], in[0][1], windows_of(*this, in[0][2], ceil),
            windows_of(*this, in[0][3], ceil)};
}

std::string Pool2d::attributes() const {
    return fmt::format("{} {}{}", kind == Kind::max ? "max" : "average", window_text(*this),
                       ceil ? " ceil" : "");
}

// What a window sees beyond the image neither wins a maximum nor counts in an average.
Tensor Pool2d::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t height = in[0].shape()[2], width = in[0].shape()[3];
    const Unfold window{kernel, stride, padding};
    const bool is_max = kind == Kind::max;
    const float* plane = in[0].floats().data();
    float* to = result.mutable_floats().data();
    for (std::int64_t each = 0; each < shape[0] * shape[1]; ++each, plane += height * width)
        for (std::int64_t row = 0; row < shape[2]; ++row)
            for (std::int64_t column = 0; column < shape[3]; ++column) {
                double most = -std::numeric_limits<double>::infinity(), sum = 0;
                std::int64_t count = 0;
                in_window(row, column, window, height, width,
                          [&](std::int64_t y, std::int64_t x, std::int64_t, std::int64_t) {
                              const double value = plane[y * width + x];
                              most = value > most ? value : most;
                              sum += value;
                              ++count;
                          });
                *to++ = float(is_max ? most : sum / double(count));
            }
    return result;
}

std::int64_t Unfold::windows(std::int64_t size) const { return windows_of(*this, size); }
Shape Unfold::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    expect_rank(kName, "an image batch", in[0], 4);
    return {in[0][0], in[0][1] * kernel * kernel, windows(in[0][2]) * windows(in[0][3])};
}
std::string Unfold::attributes() const { return window_text(*this); }
Tensor Unfold::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::zeros(DType::f32, shape);  // (B * C, kernel * kernel, rows * columns)
    const std::int64_t height = in[0].shape()[2], width = in[0].shape()[3];
    const std::int64_t rows = windows(height), columns = windows(width);
    const std::int64_t planes = in[0].shape()[0] * in[0].shape()[1], area = kernel * kernel;
    const float* image = in[0].floats().data();
    float* to = result.mutable_floats().data();
    for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = 0; column < columns; ++column)
                in_window(row, column, *this, height, width,
                          [&](std::int64_t y, std::int64_t x, std::int64_t ky, std::int64_t kx) {
                              const std::int64_t tap = plane * area + ky * kernel + kx;
                              to[(tap * rows + row) * columns + column] =
                                  image[(plane * height + y) * width + x];
                          });
    return result;
}

Shape Fold::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    expect_rank(kName, "windows", in[0], 3);
    const std::int64_t area = kernel * kernel;
    const std::int64_t count = windows_of(*this, height) * windows_of(*this, width);
    if (in[0][1] % area != 0 || in[0][2] != count)
        reject(kName, "expected {} windows of {} values a channel, got {}", count, area,
               in[0].to_string());
    return {in[0][0], in[0][1] / area, height, width};
}

std::string Fold::attributes() const {
    return fmt::format("{} to={}x{}", window_text(*this), height, width);
}

Tensor Fold::compute(Tensors in, const Shape& shape) const {
    const Unfold window{kernel, stride, padding};
    const std::int64_t rows = window.windows(height), columns = window.windows(width);
    const std::int64_t planes = shape[0] * shape[1], area = kernel * kernel;
    const float* from = in[0].floats().data();
    std::vector<double> sums(std::size_t(shape.count()), 0.0);
    for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = 0; column < columns; ++column)
                in_window(row, column, window, height, width,
                          [&](std::int64_t y, std::int64_t x, std::int64_t ky, std::int64_t kx) {
                              const std::int64_t tap = plane * area + ky * kernel + kx;
                              sums[std::size_t((plane * height + y) * width + x)] +=
                                  double(from[(tap * rows + row) * columns + column]);
                          });
    Tensor result = Tensor::empty(DType::f32, shape);
    for (std::size_t i = 0; i < sums.size(); ++i) result.mutable_floats()[i] = float(sums[i]);
    return result;
}

Shape Outlook::infer(Shapes in) const {
    expect_count(kName, in, 2, 2);
    expect_rank(kName, "values", in[0], 4);
    if (heads < 1 || in[0][3] % heads != 0)
        reject(kName, "expected heads that divide the width {}, got {}", in[0][3], heads);
    const Unfold unfold{kernel, stride, kernel / 2};
    const std::int64_t area = kernel * kernel;
    expect_shape(
        kName, "scores", in[1],
        {in[0][0], unfold.windows(in[0][1]), unfold.windows(in[0][2]), heads * area * area});
    return in[0];
}

std::string Outlook::attributes() const {
    return fmt::format("heads={} kernel={} stride={} scale={:.6g}", heads, kernel, stride, scale);
}

Value Outlook::decompose(Builder& b, Values in, Location at) const {
    const Shape& values = in[0].shape();   // [B, H, W, D]
    const Shape& windows = in[1].shape();  // [B, h, w, heads * k^4]
    const std::int64_t area = kernel * kernel;
    const std::int64_t count = windows[1] * windows[2];
    const std::int64_t head_dim = values[3] / heads;
    const Unfold unfold{kernel, stride, kernel / 2};
    const Fold fold{kernel, stride, kernel / 2, values[1], values[2]};

    Value v = b.unfold(b.permute(in[0], {0, 3, 1, 2}, at), unfold, at);  // [B, D*k*k, L]
    v = b.reshape(v, {values[0], heads, head_dim, area, count}, at);
    v = b.permute(v, {0, 1, 4, 3, 2}, at);  // [B, heads, L, k*k, head_dim]
    Value mix = b.reshape(in[1], {values[0], count, heads, area, area}, at);
    mix = b.softmax(b.scale(b.permute(mix, {0, 2, 1, 3, 4}, at), scale, 0, at), -1, at);
    v = b.permute(b.matmul(mix, v, false, at), {0, 1, 4, 3, 2}, at);
    v = b.fold(b.reshape(v, {values[0], values[3] * area, count}, at), fold, at);
    return b.permute(v, {0, 2, 3, 1}, at);
}

}  // namespace cait::op
