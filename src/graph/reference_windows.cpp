// The plain interpreter's windows over images: convolution, pooling, unfold and fold.
#include <limits>

#include "graph/reference_ops.h"

namespace cait::reference {

namespace {

// Calls visit(y, x, ky, kx) for every pixel of the window at (row, column) that lies in the image.
template <class Visit>
void in_window(std::int64_t row, std::int64_t column, const op::Unfold& window, std::int64_t height,
               std::int64_t width, const Visit& visit) {
    for (std::int64_t ky = 0; ky < window.kernel; ++ky)
        for (std::int64_t kx = 0; kx < window.kernel; ++kx) {
            const std::int64_t y = row * window.stride + ky - window.padding;
            const std::int64_t x = column * window.stride + kx - window.padding;
            if (y >= 0 && y < height && x >= 0 && x < width) visit(y, x, ky, kx);
        }
}

std::int64_t windows(std::int64_t size, const op::Unfold& window) {
    return (size + 2 * window.padding - window.kernel) / window.stride + 1;
}

}  // namespace

Tensor compute(const op::Conv2d& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const Shape &from = in[0].shape(), &kernel = in[1].shape();
    const std::int64_t height = from[2], width = from[3], per_group = kernel[1];
    const std::int64_t out_of_group = kernel[0] / op.groups;
    const float* image = in[0].floats().data();   // (B, C, height, width)
    const float* weight = in[1].floats().data();  // (O, C / groups, kernel[2], kernel[3])
    float* y = result.mutable_floats().data();
    for (std::int64_t b = 0; b < shape[0]; ++b)
        for (std::int64_t o = 0; o < shape[1]; ++o)
            for (std::int64_t row = 0; row < shape[2]; ++row)
                for (std::int64_t column = 0; column < shape[3]; ++column) {
                    double sum = in.size() > 2 ? double(in[2].floats()[std::size_t(o)]) : 0.0;
                    for (std::int64_t c = 0; c < per_group; ++c) {
                        const std::int64_t channel = o / out_of_group * per_group + c;
                        const float* plane = image + (b * from[1] + channel) * height * width;
                        const float* taps = weight + (o * per_group + c) * kernel[2] * kernel[3];
                        for (std::int64_t ky = 0; ky < kernel[2]; ++ky) {
                            const std::int64_t at_y = row * op.stride + ky - op.padding;
                            if (at_y < 0 || at_y >= height) continue;
                            for (std::int64_t kx = 0; kx < kernel[3]; ++kx) {
                                const std::int64_t at_x = column * op.stride + kx - op.padding;
                                if (at_x < 0 || at_x >= width) continue;
                                sum += double(plane[at_y * width + at_x]) *
                                       double(taps[ky * kernel[3] + kx]);
                            }
                        }
                    }
                    *y++ = float(sum);
                }
    return result;
}

// What a window sees beyond the image neither wins a maximum nor counts in an average.
Tensor compute(const op::Pool2d& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t height = in[0].shape()[2], width = in[0].shape()[3];
    const op::Unfold window{op.kernel, op.stride, op.padding};
    const bool is_max = op.kind == op::Pool2d::Kind::max;
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

Tensor compute(const op::Unfold& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::zeros(DType::f32, shape);  // (B * C, kernel * kernel, rows * columns)
    const std::int64_t height = in[0].shape()[2], width = in[0].shape()[3];
    const std::int64_t rows = windows(height, op), columns = windows(width, op);
    const std::int64_t planes = in[0].shape()[0] * in[0].shape()[1], area = op.kernel * op.kernel;
    const float* image = in[0].floats().data();
    float* to = result.mutable_floats().data();
    for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = 0; column < columns; ++column)
                in_window(row, column, op, height, width,
                          [&](std::int64_t y, std::int64_t x, std::int64_t ky, std::int64_t kx) {
                              const std::int64_t tap = plane * area + ky * op.kernel + kx;
                              to[(tap * rows + row) * columns + column] =
                                  image[(plane * height + y) * width + x];
                          });
    return result;
}

Tensor compute(const op::Fold& op, Inputs in, const Shape& shape) {
    const op::Unfold window{op.kernel, op.stride, op.padding};
    const std::int64_t rows = windows(op.height, window), columns = windows(op.width, window);
    const std::int64_t planes = shape[0] * shape[1], area = op.kernel * op.kernel;
    const float* from = in[0].floats().data();
    std::vector<double> sums(std::size_t(shape.count()), 0.0);
    for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = 0; column < columns; ++column)
                in_window(row, column, window, op.height, op.width,
                          [&](std::int64_t y, std::int64_t x, std::int64_t ky, std::int64_t kx) {
                              const std::int64_t tap = plane * area + ky * op.kernel + kx;
                              sums[std::size_t((plane * op.height + y) * op.width + x)] +=
                                  double(from[(tap * rows + row) * columns + column]);
                          });
    Tensor result = Tensor::empty(DType::f32, shape);
    for (std::size_t i = 0; i < sums.size(); ++i) result.mutable_floats()[i] = float(sums[i]);
    return result;
}

}  // namespace cait::reference
