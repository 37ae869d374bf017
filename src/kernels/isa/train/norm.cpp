// LayerNorm backward. Mean and std are computed again: x is read anyway.
#include "kernels/isa/isa.h"
#include "kernels/isa/moments.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

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
