// Matrix products: linear maps of features, of matrices by matrices, and across tokens.
#include "graph/builder.h"
#include "graph/ops/support.h"

namespace cait::op {

Shape Linear::infer(Shapes in) const {
    expect_count(kName, in, 2, 3);
    expect_rank(kName, "a weight", in[1], 2);
    if (in[0].rank() < 1 || in[0][-1] != in[1][1])
        reject(kName, "expected input features {}, got {}", in[1][1], in[0].to_string());
    if (in.size() == 3) expect_shape(kName, "a bias", in[2], {in[1][0]});
    Shape result = in[0];
    result[-1] = in[1][0];
    return result;
}

std::int64_t Linear::macs(Shapes in, const Shape& result) const {
    return result.count() * in[1][1];
}

Tensor Linear::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const float* weight = in[1].floats().data();  // (outputs, inputs)
    const float* bias = in.size() > 2 ? in[2].floats().data() : nullptr;
    const std::int64_t outputs = in[1].shape()[0], inputs = in[1].shape()[1];
    const std::int64_t rows = shape.count() / outputs;
    const float* x = in[0].floats().data();     // (rows, inputs)
    float* y = result.mutable_floats().data();  // (rows, outputs)
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t o = 0; o < outputs; ++o) {
            double sum = bias == nullptr ? 0.0 : double(bias[o]);
            for (std::int64_t i = 0; i < inputs; ++i)
                sum += double(x[row * inputs + i]) * double(weight[o * inputs + i]);
            y[row * outputs + o] = float(sum);
        }
    return result;
}

Shape MatMul::infer(Shapes in) const {
    expect_count(kName, in, 2, 2);
    const Shape &a = in[0], &b = in[1];
    if (a.rank() < 2 || a.rank() != b.rank())
        reject(kName, "expected two inputs of one rank, got {} and {}", a.to_string(),
               b.to_string());
    const std::int64_t inner = transpose_b ? b[-1] : b[-2];
    if (a[-1] != inner)
        reject(kName, "expected inner extents to agree, got {} and {}{}", a.to_string(),
               b.to_string(), transpose_b ? " transposed" : "");
    for (std::int64_t i = 0; i + 2 < std::int64_t(a.rank()); ++i)
        if (a[i] != b[i])
            reject(kName, "expected outer extents to agree, got {} and {}", a.to_string(),
                   b.to_string());
    Shape result = a;
    result[-1] = transpose_b ? b[-2] : b[-1];
    return result;
}
std::string MatMul::attributes() const { return transpose_b ? "transpose_b" : ""; }
std::int64_t MatMul::macs(Shapes in, const Shape& result) const {
    return result.count() * in[0][-1];
}

Tensor MatMul::compute(Tensors in, const Shape& shape) const {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t m = shape[-2], n = shape[-1], k = in[0].shape()[-1];
    const std::int64_t count = m * n == 0 ? 0 : shape.count() / (m * n);
    const std::int64_t step_k = transpose_b ? 1 : n, step_n = transpose_b ? k : 1;
    for (std::int64_t each = 0; each < count; ++each) {
        const float* a = in[0].floats().data() + each * m * k;
        const float* b = in[1].floats().data() + each * k * n;
        float* y = result.mutable_floats().data() + each * m * n;
        for (std::int64_t row = 0; row < m; ++row)
            for (std::int64_t column = 0; column < n; ++column) {
                double sum = 0;
                for (std::int64_t i = 0; i < k; ++i)
                    sum += double(a[row * k + i]) * double(b[i * step_k + column * step_n]);
                y[row * n + column] = float(sum);
            }
    }
    return result;
}

Shape PatchMix::infer(Shapes in) const {
    expect_count(kName, in, 2, 3);
    expect_rank(kName, "tokens", in[0], 3);
    expect_rank(kName, "a weight", in[1], 2);
    if (in[1][1] != in[0][1])
        reject(kName, "expected a weight for {} tokens, got {}", in[0][1], in[1].to_string());
    if (in.size() == 3) expect_shape(kName, "a bias", in[2], {in[1][0]});
    return {in[0][0], in[1][0], in[0][2]};
}

Value PatchMix::decompose(Builder& b, Values in, Location at) const {
    const Affine params{in[1], in.size() > 2 ? in[2] : Value()};
    return b.permute(b.linear(b.permute(in[0], {0, 2, 1}, at), params, at), {0, 2, 1}, at);
}

}  // namespace cait::op
