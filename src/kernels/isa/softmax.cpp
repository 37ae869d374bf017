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
    const Index whole = columns / kWidth * kWidth, left = columns - whole;
    Vec tops = set(x[0]), rest = tops;
    for (Index c = 0; c < whole; c += kWidth) tops = max(tops, load(x + c));
    if (left > 0) {
        rest = first_lanes(load_part(x + whole, left), left, rest);
        tops = max(tops, rest);
    }
    const Vec top = set(largest(tops));

    Vec total = set(0.0F);
    for (Index c = 0; c < whole; c += kWidth) {
        const Vec e = exponential_of(load(x + c) - top);
        total += e;
        store(x + c, e);
    }
    if (left > 0) {
        rest = first_lanes(exponential_of(rest - top), left, set(0.0F));
        total += rest;
    }
    const Vec inverse = set(1.0F / sum(total));
    for (Index c = 0; c < whole; c += kWidth) store(x + c, load(x + c) * inverse);
    if (left > 0) store_part(x + whole, rest * inverse, left);
}

}  // namespace

void softmax(float* x, Index rows, Index columns, Index ld, Format rounded_to) {
    // The short exponential is right to about 16 bits.
    const auto row =
        row_of(rounded_to).significant_bits > 16 ? softmax_row<false> : softmax_row<true>;
    for (Index r = 0; r < rows; ++r, x += ld) row(x, columns);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
