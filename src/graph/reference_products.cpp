// The plain interpreter's matrix products.
#include "graph/reference_ops.h"

namespace cait::reference {

Tensor compute(const op::Linear&, Inputs in, const Shape& shape) {
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

Tensor compute(const op::MatMul& op, Inputs in, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::int64_t m = shape[-2], n = shape[-1], k = in[0].shape()[-1];
    const std::int64_t count = m * n == 0 ? 0 : shape.count() / (m * n);
    const std::int64_t step_k = op.transpose_b ? 1 : n, step_n = op.transpose_b ? k : 1;
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

}  // namespace cait::reference
