// GELU in its exact form x Φ(x), forward and backward.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr float kInverseRootTwoPi = 0.39894228F;

Vec gelu_of(Vec x, bool bfloat16) {
    const Vec y = x * normal(x).distribution;
    return bfloat16 ? round_to_bfloat16(y) : y;
}

struct Both {
    Vec y;
    Vec dx;
};
Both both_of(Vec x, Vec dy, bool bfloat16) {
    const Normal n = normal(x);
    const Vec y = x * n.distribution;
    const Vec dx = dy * (n.distribution + x * n.bell * set(kInverseRootTwoPi));
    return bfloat16 ? Both{round_to_bfloat16(y), round_to_bfloat16(dx)} : Both{y, dx};
}

}  // namespace

void gelu(const float* x, Index count, float* y, bool bfloat16) {
    Index i = 0;
    for (; i + kWidth <= count; i += kWidth) store(y + i, gelu_of(load(x + i), bfloat16));
    if (i < count) store_part(y + i, gelu_of(load_part(x + i, count - i), bfloat16), count - i);
}

void gelu_backward(const float* x, const float* dy, Index count, float* y, float* dx,
                   bool bfloat16) {
    Index i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        const Both both = both_of(load(x + i), load(dy + i), bfloat16);
        if (y != nullptr) store(y + i, both.y);
        store(dx + i, both.dx);
    }
    if (i == count) return;
    const Index left = count - i;
    const Both both = both_of(load_part(x + i, left), load_part(dy + i, left), bfloat16);
    if (y != nullptr) store_part(y + i, both.y, left);
    store_part(dx + i, both.dx, left);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
