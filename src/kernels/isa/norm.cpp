// LayerNorm over the last axis, straight into the next product's operand.
#include "kernels/isa/isa.h"
#include "kernels/isa/moments.h"
#include "kernels/isa/quantize.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

template <class T>
void norm_rows(const float* x, const float* weight, const float* bias, float epsilon, Index rows,
               Index dim, const MutableRows& to) {
    const Index padded = lhs_ld(to.format, dim);
    for (Index r = 0; r < rows; ++r, x += dim) {
        T* y = static_cast<T*>(to.data) + r * to.ld;
        const Moments m = moments(x, dim, epsilon);
        const auto normed = [&](Vec value, Vec w, Vec b) __attribute__((always_inline)) {
            return (value - set(m.mean)) * set(m.inverse) * w + b;
        };
        Index c = 0;
        for (; c + kWidth <= dim; c += kWidth)
            store(y + c, normed(load(x + c), load(weight + c), load(bias + c)));
        if (c < dim)
            store_part(y + c,
                       normed(load_part(x + c, dim - c), load_part(weight + c, dim - c),
                              load_part(bias + c, dim - c)),
                       dim - c);
        for (c = dim; c < padded; ++c) y[c] = T{};
    }
}

// The row's values are computed twice, which is quicker than keeping them.
void norm_rows_to_bytes(const float* x, const float* weight, const float* bias, float epsilon,
                        Index rows, Index dim, const MutableRows& to) {
    for (Index r = 0; r < rows; ++r, x += dim) {
        const Moments m = moments(x, dim, epsilon);
        const auto normed = [&](Vec value, Vec w, Vec b) __attribute__((always_inline)) {
            return (value - set(m.mean)) * set(m.inverse) * w + b;
        };
        quantize_row(
            dim, static_cast<std::uint8_t*>(to.data) + r * to.ld,
            to.ld, [&](Index c, Index count) __attribute__((always_inline)) {
                if (count == kWidth) return normed(load(x + c), load(weight + c), load(bias + c));
                // Lanes beyond the row are (0 - mean) * inverse * 0 + 0.
                return normed(load_part(x + c, count), load_part(weight + c, count),
                              load_part(bias + c, count));
            });
    }
}

}  // namespace

void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, Index rows,
                Index dim, const MutableRows& y) {
    if (y.format == Format::s8) return norm_rows_to_bytes(x, weight, bias, epsilon, rows, dim, y);
    with_type(y.format, [&](auto* type) {
        norm_rows<std::remove_pointer_t<decltype(type)>>(x, weight, bias, epsilon, rows, dim, y);
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
