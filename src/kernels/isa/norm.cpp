// LayerNorm over the last axis, forward and backward. The backward pass computes mean and deviation
// again: x is read anyway.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

struct Moments {
    float mean;
    float inverse;  // 1 / sqrt(variance + epsilon)
};

Moments moments(const float* x, Index dim, float epsilon) {
    Vec total = set(0.0F);
    Index c = 0;
    for (; c + kWidth <= dim; c += kWidth) total += load(x + c);
    if (c < dim) total += load_part(x + c, dim - c);
    const float mean = sum(total) / float(dim);
    Vec squares = set(0.0F);
    for (c = 0; c + kWidth <= dim; c += kWidth) {
        const Vec centred = load(x + c) - set(mean);
        squares += centred * centred;
    }
    float variance = sum(squares);
    for (; c < dim; ++c) variance += (x[c] - mean) * (x[c] - mean);
    return {mean, 1.0F / __builtin_sqrtf(variance / float(dim) + epsilon)};
}

}  // namespace

void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, Index rows,
                Index dim, float* y, bool bfloat16) {
    for (Index r = 0; r < rows; ++r, x += dim, y += dim) {
        const Moments m = moments(x, dim, epsilon);
        const auto normed = [&](Vec value, Vec w, Vec b) {
            const Vec result = (value - set(m.mean)) * set(m.inverse) * w + b;
            return bfloat16 ? round_to_bfloat16(result) : result;
        };
        Index c = 0;
        for (; c + kWidth <= dim; c += kWidth)
            store(y + c, normed(load(x + c), load(weight + c), load(bias + c)));
        if (c < dim)
            store_part(y + c,
                       normed(load_part(x + c, dim - c), load_part(weight + c, dim - c),
                              load_part(bias + c, dim - c)),
                       dim - c);
    }
}

void layer_norm_backward(const float* x, const float* weight, float epsilon, const float* dy,
                         const float* residual, Index rows, Index dim, float* dx, float* d_weight,
                         float* d_bias) {
    for (Index r = 0; r < rows; ++r, x += dim, dy += dim, dx += dim) {
        const Moments m = moments(x, dim, epsilon);
        Vec total = set(0.0F), projected = set(0.0F);
        Index c = 0;
        for (; c + kWidth <= dim; c += kWidth) {
            const Vec normed = (load(x + c) - set(m.mean)) * set(m.inverse);
            const Vec gradient = load(dy + c);
            const Vec weighted = gradient * load(weight + c);
            total += weighted;
            projected += weighted * normed;
            store(d_weight + c, load(d_weight + c) + gradient * normed);
            store(d_bias + c, load(d_bias + c) + gradient);
        }
        float mean = sum(total), slope = sum(projected);
        for (; c < dim; ++c) {
            const float normed = (x[c] - m.mean) * m.inverse;
            mean += dy[c] * weight[c];
            slope += dy[c] * weight[c] * normed;
            d_weight[c] += dy[c] * normed;
            d_bias[c] += dy[c];
        }
        mean /= float(dim);
        slope /= float(dim);
        for (c = 0; c + kWidth <= dim; c += kWidth) {
            const Vec normed = (load(x + c) - set(m.mean)) * set(m.inverse);
            const Vec weighted = load(dy + c) * load(weight + c);
            Vec gradient = (weighted - set(mean) - normed * set(slope)) * set(m.inverse);
            if (residual != nullptr) gradient += load(residual + c);
            store(dx + c, gradient);
        }
        for (; c < dim; ++c) {
            const float normed = (x[c] - m.mean) * m.inverse;
            const float gradient = (dy[c] * weight[c] - mean - normed * slope) * m.inverse;
            dx[c] = residual == nullptr ? gradient : gradient + residual[c];
        }
        if (residual != nullptr) residual += dim;
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
