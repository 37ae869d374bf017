// Softmax over the keys of attention maps.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

template <bool Short>
void softmax_row(float* x, Index columns) {
    const auto exponential_of = [](Vec v) __attribute__((always_inline)) {
        return Short ? short_exponential(v) : exponential(v);
    };
    Vec tops = set(x[0]);
    Index c = 0;
    for (; c + kWidth <= columns; c += kWidth) tops = max(tops, load(x + c));
    float top = largest(tops);
    for (; c < columns; ++c) top = x[c] > top ? x[c] : top;

    Vec total = set(0.0F);
    for (c = 0; c + kWidth <= columns; c += kWidth) {
        const Vec e = exponential_of(load(x + c) - set(top));
        total += e;
        store(x + c, e);
    }
    float all = sum(total);
    if (c < columns) {
        const Index left = columns - c;
        store_part(x + c, exponential_of(load_part(x + c, left) - set(top)), left);
        for (Index i = c; i < columns; ++i) all += x[i];
    }
    const float inverse = 1.0F / all;
    for (c = 0; c + kWidth <= columns; c += kWidth) store(x + c, load(x + c) * set(inverse));
    for (; c < columns; ++c) x[c] *= inverse;
}

}  // namespace

void softmax(float* x, Index rows, Index columns, Index ld, Format rounded_to) {
    for (Index r = 0; r < rows; ++r, x += ld)
        if (rounded_to == Format::f32)
            softmax_row<false>(x, columns);
        else
            softmax_row<true>(x, columns);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
