// Mean and inverse std of a row, which LayerNorm needs forward and backward.
#pragma once

#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

struct Moments {
    float mean;
    float inverse;  // 1 / sqrt(variance + epsilon)
};

inline Moments moments(const float* x, Index dim, float epsilon) {
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

}  // namespace cait::kernels::CAIT_KERNEL_ISA
