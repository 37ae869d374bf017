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

// Rows of the left-hand side as left_quad() reads them.
struct LeftBlock {
    const std::byte* data;
    Index step;  // bytes from row to row
};

// Four bytes from 0 to 255 times four from -128 to 127, in every lane. Without vpdpbusd they are
// multiplied as 16-bit numbers, those at even places and those at odd ones, in pairs whose sums fit
// 32 bits. vpmaddubsw would be quicker and cut off sums beyond 16 bits.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)

// Rows of 32 columns that there are registers for: of 16, two for columns and one for a quad remain
// beside 12 sums, which is as many as hide how long vpdpbusd takes.
constexpr int kQuadRows = kWidth == 16 ? 8 : 6;
constexpr Index kLeftBytes = 4;  // of a quad of the left-hand side
typedef BitVec LeftQuad;
typedef BitVec RightQuad;

[[gnu::always_inline]] inline LeftQuad left_quad(const void* from) {
    std::uint32_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return BitVec{} + bits;
}
[[gnu::always_inline]] inline RightQuad right_quad(BitVec quads) { return quads; }
[[gnu::always_inline]] inline IntVec dot_quads(IntVec sums, LeftQuad a, RightQuad b) {
#if defined(__AVX512F__)
    return IntVec(_mm512_dpbusd_epi32(__m512i(sums), __m512i(a), __m512i(b)));
#else
    return IntVec(_mm256_dpbusd_avx_epi32(__m256i(sums), __m256i(a), __m256i(b)));
#endif
}
// In place.
inline LeftBlock left_block(const std::uint8_t* a, Index a_ld, Index, Index, std::byte*) {
    return {reinterpret_cast<const std::byte*>(a), a_ld};
}

#else

constexpr int kQuadRows = kWidth == 16 ? 8 : 4;
constexpr Index kLeftBytes = 8;
struct LeftQuad {
    BitVec even, odd;
};
struct RightQuad {
    BitVec even, odd;
};

// With bytes as 16-bit numbers in `memory`, which has 4 * round_up(k, 32) bytes a row.
inline LeftBlock left_block(const std::uint8_t* a, Index a_ld, Index rows, Index k,
                            std::byte* memory) {
    const Index quads = (k + 3) / 4;
    std::byte* to = memory;
    for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < quads; ++i, to += kLeftBytes) {
            std::uint32_t quad;
            std::memcpy(&quad, a + r * a_ld + 4 * i, sizeof quad);
            const std::uint32_t words[2] = {quad & 0x00FF00FFU, (quad >> 8) & 0x00FF00FFU};
            std::memcpy(to, words, sizeof words);
        }
    return {memory, quads * kLeftBytes};
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

// ---- How a right-hand side is packed, see Layout::quads.

constexpr Index kQuadPanel = 32;    // columns
constexpr Index kQuadDepth = 64;    // of k in a step
constexpr Index kHalfBytes = 1024;  // 16 columns of a step: a tile of AMX
constexpr Index kSumBytes = kQuadPanel * 4;
constexpr Index kQuadStep = kSumBytes + 2 * kHalfBytes;

[[gnu::always_inline]] inline Index quad_panel_bytes(Index rows) {
    return kSumBytes + round_up(rows, kQuadDepth) / kQuadDepth * kQuadStep;
}

// What the zeros of a left-hand side add to the sums of a panel over k of its rows, negative: the
// sum of what each step starts with.
inline void add_quad_starts(const std::byte* step, Index k, std::int32_t (&start)[kQuadPanel]) {
    for (Index done = 0; done < k; done += kQuadDepth, step += kQuadStep)
        for (Index c = 0; c < kQuadPanel; ++c) {
            std::int32_t sums;
            std::memcpy(&sums, step + c * 4, sizeof sums);
            start[c] += sums;
        }
}

// The sums of a row and some columns, up to a register of them, as values: put into or added to
// `to`, which has `left` columns.
[[gnu::always_inline]] inline void put_sums(IntVec sums, Vec scale, Index left, bool accumulate,
                                            float* to) {
    Vec result = rounded_here(__builtin_convertvector(sums, Vec) * scale);
    if (left >= kWidth) {
        if (accumulate) result += load(to);
        store(to, result);
    } else {
        if (accumulate) result += load_part(to, left);
        store_part(to, result, left);
    }
}

// ---- Whole numbers of values

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
