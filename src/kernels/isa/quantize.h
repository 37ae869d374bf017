// Rows of floats as whole numbers of a byte with a scale, in the form of a product's left-hand side
// (Lhs in kernels/product.h).
#pragma once

#include "kernels/isa/quads.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

// What stands behind the values of a row: zeros up to the trailer, and the scale in it.
[[gnu::always_inline]] inline void end_row(std::uint8_t* to, Index columns, Index ld, int zero,
                                           float scale) {
    std::memset(to + columns, zero, std::size_t(ld - kRowTrailer - columns));
    std::memcpy(to + ld - kRowTrailer, &scale, sizeof scale);
}

// Calls work(column, count) for registers of columns, the last of which may be short.
template <class Work>
[[gnu::always_inline]] inline void for_registers(Index columns, const Work& work) {
    Index c = 0;
    for (; c + kWidth <= columns; c += kWidth) work(c, Index(kWidth));
    if (c < columns) work(c, columns - c);
}

// The first `count` of the whole numbers nearest to x, with `zero` added.
[[gnu::always_inline]] inline void store_bytes(std::uint8_t* to, Vec x, int zero, Index count) {
    const IntVec whole = nearest(x) + zero;
    const ByteVec bytes = __builtin_convertvector(whole, ByteVec);
    std::memcpy(to, &bytes, count == kWidth ? sizeof bytes : std::size_t(count));
}

// value_at(c, count): the values of columns [c, c + count), count at most kWidth, the rest zero. It
// is asked for each of them twice.
template <class ValueAt>
[[gnu::always_inline]] inline void quantize_row(Index columns, std::uint8_t* to, Index ld,
                                                const ValueAt& value_at) {
    Vec greatest = set(0.0F), finite = set(0.0F);
    for_registers(
        columns, [&](Index c, Index count) __attribute__((always_inline)) {
            const Vec x = value_at(c, count);
            greatest = max(absolute(x), greatest);  // where x is not a number, `finite` knows
            finite += x * set(0.0F);
        });
    const ByteScale scale = byte_scale(largest(greatest), sum(finite));
    for_registers(
        columns, [&](Index c, Index count) __attribute__((always_inline)) {
            store_bytes(to + c, value_at(c, count) * set(scale.inverse), 128, count);
        });
    end_row(to, columns, ld, 128, scale.scale);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
