// Rows of floats as whole numbers of a byte with a scale, in the form of a product's left-hand side
// (Lhs in kernels/product.h).
#pragma once

#include "kernels/isa/quads.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

// value_at(c, count): the values of columns [c, c + count), count at most kWidth, the rest zero. It
// is asked for each of them twice.
template <class ValueAt>
[[gnu::always_inline]] inline void quantize_row(Index columns, std::uint8_t* to, Index ld,
                                                const ValueAt& value_at) {
    Vec greatest = set(0.0F), finite = set(0.0F);
    const auto each = [columns](const auto& work) __attribute__((always_inline)) {
        Index c = 0;
        for (; c + kWidth <= columns; c += kWidth) work(c, Index(kWidth));
        if (c < columns) work(c, columns - c);
    };
    each([&](Index c, Index count) __attribute__((always_inline)) {
        const Vec x = value_at(c, count);
        greatest = max(absolute(x), greatest);  // where x is not a number, `finite` knows
        finite += x * set(0.0F);
    });
    const ByteScale scale = byte_scale(largest(greatest), sum(finite));
    each([&](Index c, Index count) __attribute__((always_inline)) {
        const IntVec whole = nearest(value_at(c, count) * set(scale.inverse)) + 128;
        const ByteVec bytes = __builtin_convertvector(whole, ByteVec);
        if (count == kWidth)
            std::memcpy(to + c, &bytes, sizeof bytes);
        else
            std::memcpy(to + c, &bytes, std::size_t(count));
    });
    for (Index c = columns; c < ld - kRowTrailer; ++c) to[c] = 128;
    std::memcpy(to + ld - kRowTrailer, &scale.scale, sizeof scale.scale);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
