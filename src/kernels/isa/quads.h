// Whole numbers of a byte in quads of 32 bits, as vpdpbusd and AMX read them: four values that
// follow each other along k. A register holds kWidth quads. All of it gives the same numbers on
// every processor.
#pragma once

#include "kernels/isa/vec.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cait::kernels::CAIT_KERNEL_ISA {

typedef std::uint8_t ByteVec __attribute__((vector_size(kWidth)));

// A product that must not be joined with the addition behind it: results would differ between
// processors with and without fused multiply-adds.
[[gnu::always_inline]] inline Vec rounded_here(Vec v) {
#if defined(__x86_64__)
    asm("" : "+v"(v));  // NOLINT(hicpp-no-assembler): emits nothing
#else
    asm("" : "+w"(v));  // NOLINT(hicpp-no-assembler)
#endif
    return v;
}

// The nearest whole numbers, ties to even, of values below 2^22.
[[gnu::always_inline]] inline IntVec nearest(Vec x) {
#if defined(__AVX512F__)
    return IntVec(_mm512_cvtps_epi32(x));
#elif defined(__AVX2__)
    return IntVec(_mm256_cvtps_epi32(x));
#else
    const Vec shifter = set(12582912.0F);  // 1.5 * 2^23: the sum's low bits are the whole number
    return as_ints(rounded_here(x) + shifter) - as_ints(shifter);
#endif
}

// Four bytes from 0 to 255 times four from -128 to 127, in every lane. Without vpdpbusd they are
// multiplied as 16-bit numbers, those at even places and those at odd ones, in pairs whose sums fit
// 32 bits. vpmaddubsw would be quicker and cut off sums beyond 16 bits.
#if defined(__AVX512VNNI__)

constexpr Index kLeftBytes = 4;  // of a quad of the left-hand side, as left_quad() reads it
typedef BitVec LeftQuad;
typedef BitVec RightQuad;

[[gnu::always_inline]] inline LeftQuad left_quad(const void* from) {
    std::uint32_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return BitVec{} + bits;
}
[[gnu::always_inline]] inline RightQuad right_quad(BitVec quads) { return quads; }
[[gnu::always_inline]] inline IntVec dot_quads(IntVec sums, LeftQuad a, RightQuad b) {
    return IntVec(_mm512_dpbusd_epi32(__m512i(sums), __m512i(a), __m512i(b)));
}

#else

constexpr Index kLeftBytes = 8;
struct LeftQuad {
    BitVec even, odd;
};
struct RightQuad {
    BitVec even, odd;
};

// One row of quads with their bytes as 16-bit numbers.
inline void split_quads(const std::uint8_t* row, Index quads, std::byte* to) {
    for (Index i = 0; i < quads; ++i) {
        std::uint32_t quad;
        std::memcpy(&quad, row + 4 * i, sizeof quad);
        const std::uint32_t words[2] = {quad & 0x00FF00FFU, (quad >> 8) & 0x00FF00FFU};
        std::memcpy(to + kLeftBytes * i, words, sizeof words);
    }
}

[[gnu::always_inline]] inline LeftQuad left_quad(const void* from) {
    std::uint32_t even, odd;  // read apart, so that each one is broadcast from memory
    std::memcpy(&even, from, sizeof even);
    std::memcpy(&odd, static_cast<const std::byte*>(from) + 4, sizeof odd);
    return {BitVec{} + even, BitVec{} + odd};
}
[[gnu::always_inline]] inline RightQuad right_quad(BitVec quads) {
    typedef std::int16_t ShortVec __attribute__((vector_size(kWidth * 4)));
    const auto shorts = ShortVec(quads);
    return {BitVec((shorts << 8) >> 8), BitVec(shorts >> 8)};
}
// Lane i: the products of two 16-bit numbers each, added.
[[gnu::always_inline]] inline IntVec dot_shorts(BitVec a, BitVec b) {
#if defined(__AVX512F__)
    return IntVec(_mm512_madd_epi16(__m512i(a), __m512i(b)));
#elif defined(__AVX2__)
    return IntVec(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSE2__)
    return IntVec(_mm_madd_epi16(__m128i(a), __m128i(b)));
#else
    return (IntVec(a << 16) >> 16) * (IntVec(b << 16) >> 16) +
           (IntVec(a) >> 16) * (IntVec(b) >> 16);
#endif
}
[[gnu::always_inline]] inline IntVec dot_quads(IntVec sums, LeftQuad a, RightQuad b) {
    return sums + dot_shorts(a.even, b.even) + dot_shorts(a.odd, b.odd);
}

#endif

[[gnu::always_inline]] inline Vec absolute(Vec x) { return from_bits(as_bits(x) & 0x7FFFFFFFU); }

// How values are turned into whole numbers: value = number * scale.
struct ByteScale {
    float scale;    // not a number where a value is not finite, so that no product hides it
    float inverse;  // 0 where all values are 0 or so small that it would not be finite
};

// `greatest`: of the absolute values; `finite`: 0, or not a number where a value is not finite.
[[gnu::always_inline]] inline ByteScale byte_scale(float greatest, float finite) {
    constexpr float kLeast = 1e-35F;
    if (!(greatest > kLeast)) return {finite, 0};
    return {greatest / 127 + finite, finite == finite ? 127 / greatest : 0};
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
