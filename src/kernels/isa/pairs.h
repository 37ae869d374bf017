// bfloat16 in pairs of 32 bits, as AMX tiles and vdpbf16ps read them: two values that follow each
// other along k. A register holds kWidth pairs.
#pragma once

#include <utility>

#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

// Lane i: (even[i], odd[i]).
[[gnu::always_inline]] inline BitVec interleave(Vec even, Vec odd) {
    return __builtin_convertvector(narrow(even), BitVec) |
           (__builtin_convertvector(narrow(odd), BitVec) << 16);
}

// Lane i: elements 2 i and 2 i + 1 of two registers that follow each other.
[[gnu::always_inline]] inline BitVec neighbours(Vec first, Vec second) {
    const HalfVec halves[2] = {narrow(first), narrow(second)};
    BitVec pairs;
    std::memcpy(&pairs, halves, sizeof pairs);
    return pairs;
}

// sums[i] += a.even[i] * b.even[i] + a.odd[i] * b.odd[i]
[[gnu::always_inline]] inline Vec dot_pairs(Vec sums, BitVec a, BitVec b) {
#if defined(__AVX512BF16__)
    __m512bh left, right;
    std::memcpy(&left, &a, sizeof a);
    std::memcpy(&right, &b, sizeof b);
    return _mm512_dpbf16_ps(sums, left, right);
#else
    const BitVec odd = BitVec{} + 0xFFFF0000U;
    return sums + from_bits(a << 16) * from_bits(b << 16) + from_bits(a & odd) * from_bits(b & odd);
#endif
}

// Lane j of result i is lane i of pairs[j]: log2(kWidth) rounds that swap ever larger squares.
template <int Distance, int... Lane>
[[gnu::always_inline]] inline void swap_squares(BitVec (&rows)[kWidth],
                                                std::integer_sequence<int, Lane...>) {
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) {
        if ((i & Distance) != 0) continue;
        const BitVec a = rows[i], b = rows[i + Distance];
        rows[i] = __builtin_shufflevector(
            a, b, ((Lane & Distance) == 0 ? Lane : kWidth + Lane - Distance)...);
        rows[i + Distance] = __builtin_shufflevector(
            a, b, ((Lane & Distance) == 0 ? Lane + Distance : kWidth + Lane)...);
    }
}
[[gnu::always_inline]] inline void transpose(BitVec (&rows)[kWidth]) {
    const std::make_integer_sequence<int, kWidth> lanes;
    swap_squares<1>(rows, lanes);
    swap_squares<2>(rows, lanes);
    if constexpr (kWidth > 4) swap_squares<4>(rows, lanes);
    if constexpr (kWidth > 8) swap_squares<8>(rows, lanes);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
