// Convolutions, alone and with what fuse() joins to them, and the gates of squeeze-excite.
#include "graph/builder.h"
#include "graph/ops/support.h"

namespace cait::op {

Shape Conv2d::infer(Shapes in) const {
    expect_count(kName, in, 2, 3);
    expect_rank(kName, "an image batch", in[0], 4);
    expect_rank(kName, "a weight", in[1], 4);
    if (groups < 1 || in[0][1] != in[1][1] * groups || in[1][0] % groups != 0)
        reject(kName, "expected {} input channels in {} groups, got {}", in[1][1] * groups, groups,
               in[0].to_string());
    if (in.size() == 3) expect_shape(kName, "a bias", in[2], {in[1][0]});
    const auto extent = [&](std::int64_t size, std::int64_t kernel) {
        const std::int64_t room = size + 2 * padding - kernel;
        if (room < 0)
            reject(kName, "expected at least {} pixels, got {}", kernel - 2 * padding, size);
        return room / stride + 1;
    };
    return {in[0][0], in[1][0], extent(in[0][2], in[1][2]), extent(in[0][3], in[1][3])};
}

std::string Conv2d::attributes() const {
    return fmt::format("stride={} padding={} groups={}", stride, padding, groups);
}

std::int64_t Conv2d::macs(Shapes in, const Shape& result) const {
    return result.count() * in[1][1] * in[1][2] * in[1][3];
}

Tensor Conv2d::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const Shape &from = in[0].shape(), &kernel = in[1].shape();
    const std::int64_t height = from[2], width = from[3], per_group = kernel[1];
    const std::int64_t out_of_group = kernel[0] / groups;
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
                            const std::int64_t at_y = row * stride + ky - padding;
                            if (at_y < 0 || at_y >= height) continue;
                            for (std::int64_t kx = 0; kx < kernel[3]; ++kx) {
                                const std::int64_t at_x = column * stride + kx - padding;
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

Shape ConvTranspose2d::infer(Shapes in) const {
    expect_count(kName, in, 2, 3);
    expect_rank(kName, "an image batch", in[0], 4);
    expect_rank(kName, "a weight", in[1], 4);
    const std::int64_t out = in[1][1], side = in[1][2];
    expect_shape(kName, "a weight", in[1], {in[0][1], out, side, side});
    if (in.size() == 3) expect_shape(kName, "a bias", in[2], {out});
    return {in[0][0], out, in[0][2] * side, in[0][3] * side};
}

// A linear map of each pixel to the pixels of its patch.
Value ConvTranspose2d::decompose(Builder& b, Values in, Location at) const {
    const Shape &from = in[0].shape(), &kernel = in[1].shape();
    const std::int64_t out = kernel[1], side = kernel[2];
    const Value weight =
        b.reshape(b.permute(in[1], {2, 3, 1, 0}, at), {side * side * out, kernel[0]}, at);
    Value y = b.linear(b.permute(in[0], {0, 2, 3, 1}, at), {weight, {}}, at);
    y = b.reshape(y, {from[0], from[2], from[3], side, side, out}, at);
    y = b.reshape(b.permute(y, {0, 5, 1, 3, 2, 4}, at),
                  {from[0], out, from[2] * side, from[3] * side}, at);
    return in.size() < 3 ? y : b.add(y, b.reshape(in[2], {out, 1, 1}, at), at);
}

Shape PatchEmbed::infer(Shapes in) const {
    expect_count(kName, in, 2, 3);
    expect_rank(kName, "an image batch", in[0], 4);
    expect_rank(kName, "a weight", in[1], 4);
    expect_shape(kName, "a weight", in[1], {in[1][0], in[0][1], size, size});
    if (in.size() == 3) expect_shape(kName, "a bias", in[2], {in[1][0]});
    if (size < 1 || in[0][2] % size != 0 || in[0][3] % size != 0)
        reject(kName, "expected a multiple of {} pixels, got {}", size, in[0].to_string());
    return {in[0][0], in[0][2] / size, in[0][3] / size, in[1][0]};
}
std::string PatchEmbed::attributes() const { return fmt::format("size={}", size); }
Value PatchEmbed::decompose(Builder& b, Values in, Location at) const {
    const Affine params{in[1], in.size() > 2 ? in[2] : Value()};
    return b.permute(b.conv2d(in[0], params, {.stride = size}, at), {0, 2, 3, 1}, at);
}

Shape ConvUnit::infer(Shapes in) const {
    const std::size_t count = 2 + std::size_t(bias) + std::size_t(residual);
    expect_count(kName, in, count, count);
    const Shape result = Conv2d::infer(in.first(bias ? 3 : 2));
    if (residual) expect_shape(kName, "a residual", in.back(), result);
    return result;
}

std::string ConvUnit::attributes() const {
    std::string text = Conv2d::attributes();
    if (bias) text += " bias";
    if (activation) text += " " + Activation{*activation}.attributes();
    if (residual) text += " residual";
    if (relu_last) text += " relu";
    return text;
}

Value ConvUnit::decompose(Builder& b, Values in, Location at) const {
    Value y = b.conv2d(in[0], {in[1], bias ? in[2] : Value()}, *this, at);
    if (activation) y = b.activation(y, *activation, at);
    if (residual) y = b.add(in.back(), y, at);
    return relu_last ? b.activation(y, Activation::Kind::relu, at) : y;
}

Shape SqueezeExcite::infer(Shapes in) const {
    expect_count(kName, in, 5, 5);
    expect_rank(kName, "an image batch", in[0], 4);
    const std::int64_t channels = in[0][1];
    const std::int64_t reduced = in[2].rank() == 1 ? in[2][0] : 0;
    expect_shape(kName, "a reducing weight", in[1], {reduced, channels, 1, 1});
    expect_shape(kName, "an expanding weight", in[3], {channels, reduced, 1, 1});
    expect_shape(kName, "an expanding bias", in[4], {channels});
    return in[0];
}

Value SqueezeExcite::decompose(Builder& b, Values in, Location at) const {
    using Kind = Activation::Kind;
    const Value mean = b.reduce(in[0], Reduce::Kind::mean, {2, 3}, true, at);
    const Value reduced = b.activation(b.conv2d(mean, {in[1], in[2]}, {}, at), Kind::relu, at);
    const Value gate = b.activation(b.conv2d(reduced, {in[3], in[4]}, {}, at), Kind::sigmoid, at);
    return b.mul(in[0], gate, at);
}

}  // namespace cait::op
