// One register of floats, as wide as the instruction set that the including file is compiled for.
// The files of this folder are compiled once per instruction set, each time in a namespace of its
// own (CAIT_KERNEL_ISA). They include no header with functions that a linker could merge: the copy
// that it keeps might be one that this processor cannot run.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/format.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace cait::kernels::CAIT_KERNEL_ISA {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif

typedef float Vec __attribute__((vector_size(kWidth * sizeof(float))));
typedef std::int32_t IntVec __attribute__((vector_size(kWidth * sizeof(float))));
typedef std::uint32_t BitVec __attribute__((vector_size(kWidth * sizeof(float))));
typedef std::uint16_t HalfVec __attribute__((vector_size(kWidth * sizeof(std::uint16_t))));

[[gnu::always_inline]] inline Vec load(const float* from) {
    Vec v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

[[gnu::always_inline]] inline void store(float* to, Vec v) { std::memcpy(to, &v, sizeof v); }

[[gnu::always_inline]] inline Vec set(float x) {
#if defined(__AVX512F__)
    return _mm512_set1_ps(x);
#elif defined(__AVX2__)
    return _mm256_set1_ps(x);
#else
    return Vec{x, x, x, x};
#endif
}

// The first `count` floats, the others zero.
[[gnu::always_inline]] inline Vec load_part(const float* from, std::int64_t count) {
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_ps(__mmask16((1U << count) - 1), from);
#else
    float buffer[kWidth] = {};
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = from[i];
    return load(buffer);
#endif
}

[[gnu::always_inline]] inline void store_part(float* to, Vec v, std::int64_t count) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, __mmask16((1U << count) - 1), v);
#else
    float buffer[kWidth];
    store(buffer, v);
    for (std::int64_t i = 0; i < count; ++i) to[i] = buffer[i];
#endif
}

// Across a register, halving it each time: the order of additions is fixed.
[[gnu::always_inline]] inline float sum(Vec v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps(v);
#else
    float lanes[kWidth];
    store(lanes, v);
    for (int half = kWidth / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
#endif
}
[[gnu::always_inline]] inline float largest(Vec v) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps(v);
#else
    float lanes[kWidth];
    store(lanes, v);
    for (int half = kWidth / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
    return lanes[0];
#endif
}

// Floats that lie `step` apart.
[[gnu::always_inline]] inline Vec gather(const float* from, std::int64_t step) {
#if defined(__AVX512F__)
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_i32gather_ps(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(int(step))), from, 4);
#else
    float lanes[kWidth];
    for (int i = 0; i < kWidth; ++i) lanes[i] = from[i * step];
    return load(lanes);
#endif
}

// 1 / x for ordinary x, to the last bit or the one before it.
[[gnu::always_inline]] inline Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
    const Vec guess = _mm512_rcp14_ps(x);  // division takes as long as the rest of GELU
    return guess + guess * (set(1.0F) - x * guess);
#elif defined(__AVX2__)
    const Vec guess = _mm256_rcp_ps(x);
    const Vec better = guess + guess * (set(1.0F) - x * guess);
    return better + better * (set(1.0F) - x * better);
#else
    return set(1.0F) / x;
#endif
}

// 1 / x to about 1e-4 where that is quicker.
[[gnu::always_inline]] inline Vec short_reciprocal(Vec x) {
#if defined(__AVX512F__)
    return _mm512_rcp14_ps(x);
#elif defined(__AVX2__)
    return _mm256_rcp_ps(x);
#else
    return set(1.0F) / x;
#endif
}

[[gnu::always_inline]] inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Vec min(Vec a, Vec b) { return a < b ? a : b; }

// The first `count` lanes of v, the others of `rest`.
[[gnu::always_inline]] inline Vec first_lanes(Vec v, std::int64_t count, Vec rest) {
    IntVec lane;
    for (int i = 0; i < kWidth; ++i) lane[i] = i;
    return lane < IntVec{} + int(count) ? v : rest;
}

[[gnu::always_inline]] inline Vec as_floats(IntVec v) {
    Vec result;
    std::memcpy(&result, &v, sizeof v);
    return result;
}
[[gnu::always_inline]] inline IntVec as_ints(Vec v) {
    IntVec result;
    std::memcpy(&result, &v, sizeof v);
    return result;
}

// ---- Functions; scripts/fit_functions.py has their coefficients.

// e^x as 2^n · 2^rest, n being the whole number nearest to x log2 e.
struct PowerOfTwo {
    Vec rest;         // at most a half
    IntVec exponent;  // n, where a float has its exponent
};
[[gnu::always_inline]] inline PowerOfTwo power_of_two(Vec x) {
    // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the low bits.
    const Vec shifter = set(12582912.0F), log2_e = set(1.44269502F);
    const Vec shifted = x * log2_e + shifter;
    return {x * log2_e - (shifted - shifter), as_ints(shifted) << 23};
}

// e^x to about 1e-7 of its value (|x| times that where multiply-adds are not fused), for x up
// to 88. Below -87 the result is that of -87, about 1e-38.
[[gnu::always_inline]] inline Vec exponential(Vec x) {
    x = max(set(-87.0F), x);
    const PowerOfTwo power = power_of_two(x);
    const Vec r = x * set(1.92596299e-8F) + power.rest;  // log2 e has more digits than a float
    Vec p = set(1.53533620e-4F);
    p = p * r + set(1.33988750e-3F);
    p = p * r + set(9.61843692e-3F);
    p = p * r + set(5.55033237e-2F);
    p = p * r + set(2.40226477e-1F);
    p = p * r + set(6.93147182e-1F);
    p = p * r + set(1.0F);
    return as_floats(as_ints(p) + power.exponent);
}

// The same to about 1e-5, for results that are rounded to bfloat16 (2e-3 of their value).
[[gnu::always_inline]] inline Vec short_exponential(Vec x) {
    const PowerOfTwo power = power_of_two(max(set(-87.0F), x));
    Vec p = set(9.58285388e-3F);
    p = p * power.rest + set(5.59064299e-2F);
    p = p * power.rest + set(2.40240991e-1F);
    p = p * power.rest + set(6.93124175e-1F);
    p = p * power.rest + set(1.0F);
    return as_floats(as_ints(p) + power.exponent);
}

// Φ(x), the normal distribution function, as 1/2 + x P(x²) / Q(x²), within 2e-7. The fit ends at
// 5.5, just past 0 and 1, and is cut there: far out Φ is exact.
[[gnu::always_inline]] inline Vec normal_distribution(Vec x) {
    const Vec inner = max(set(-5.5F), min(set(5.5F), x)), u = inner * inner;
    Vec p = set(2.32290915e-8F);
    p = p * u + set(6.37221410e-6F);
    p = p * u + set(1.66425336e-4F);
    p = p * u + set(4.66399500e-3F);
    p = p * u + set(3.35830674e-2F);
    p = p * u + set(3.98942232e-1F);
    Vec q = set(1.21269875e-6F);
    q = q * u + set(7.30537358e-5F);
    q = q * u + set(1.87111378e-3F);
    q = q * u + set(2.84998566e-2F);
    q = q * u + set(2.50846267e-1F);
    q = q * u + set(1.0F);
    return max(set(0.0F), min(set(1.0F), p * inner * reciprocal(q) + set(0.5F)));
}

// The same within 3e-5, for results that are rounded to bfloat16; the fit ends at 4.6.
[[gnu::always_inline]] inline Vec short_normal_distribution(Vec x) {
    const Vec inner = max(set(-4.6F), min(set(4.6F), x)), u = inner * inner;
    Vec p = set(3.60661797e-5F);
    p = p * u + set(3.92184034e-3F);
    p = p * u + set(2.67443676e-2F);
    p = p * u + set(3.98948342e-1F);
    Vec q = set(1.22583832e-3F);
    q = q * u + set(2.37039141e-2F);
    q = q * u + set(2.33773753e-1F);
    q = q * u + set(1.0F);
    return max(set(0.0F), min(set(1.0F), p * inner * reciprocal(q) + set(0.5F)));
}

// ---- bfloat16: rounded to nearest, ties to even.

[[gnu::always_inline]] inline BitVec as_bits(Vec v) {
    BitVec result;
    std::memcpy(&result, &v, sizeof v);
    return result;
}
[[gnu::always_inline]] inline Vec from_bits(BitVec v) {
    Vec result;
    std::memcpy(&result, &v, sizeof v);
    return result;
}

[[gnu::always_inline]] inline HalfVec narrow(Vec x) {
#if defined(__AVX512BF16__)
    const __m256bh half = _mm512_cvtneps_pbh(x);
    HalfVec result;
    std::memcpy(&result, &half, sizeof result);
    return result;
#else
    const BitVec bits = as_bits(x);
    const BitVec rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    // Rounding could carry a NaN's bits into infinity.
    return __builtin_convertvector(x == x ? rounded : BitVec{} + 0x7FC0U, HalfVec);
#endif
}
[[gnu::always_inline]] inline Vec widen(HalfVec half) {
    return from_bits(__builtin_convertvector(half, BitVec) << 16);
}

[[gnu::always_inline]] inline Vec load(const BFloat16* from) {
    HalfVec half;
    std::memcpy(&half, from, sizeof half);
    return widen(half);
}
[[gnu::always_inline]] inline void store(BFloat16* to, Vec v) {
    const HalfVec half = narrow(v);
    std::memcpy(to, &half, sizeof half);
}
[[gnu::always_inline]] inline Vec load_part(const BFloat16* from, std::int64_t count) {
    HalfVec half{};
#if defined(__AVX512F__)
    const __m256i loaded = _mm256_maskz_loadu_epi16(__mmask16((1U << count) - 1), from);
    std::memcpy(&half, &loaded, sizeof half);
#else
    for (std::int64_t i = 0; i < count; ++i) half[i] = from[i].bits;
#endif
    return widen(half);
}
[[gnu::always_inline]] inline void store_part(BFloat16* to, Vec v, std::int64_t count) {
    const HalfVec half = narrow(v);
#if defined(__AVX512F__)
    __m256i stored;
    std::memcpy(&stored, &half, sizeof half);
    _mm256_mask_storeu_epi16(to, __mmask16((1U << count) - 1), stored);
#else
    for (std::int64_t i = 0; i < count; ++i) to[i].bits = half[i];
#endif
}
[[gnu::always_inline]] inline Vec gather(const BFloat16* from, std::int64_t step) {
    HalfVec half{};
    for (int i = 0; i < kWidth; ++i) half[i] = from[i * step].bits;
    return widen(half);
}
[[gnu::always_inline]] inline float value(float x) { return x; }
[[gnu::always_inline]] inline float value(BFloat16 x) {
    const std::uint32_t bits = std::uint32_t(x.bits) << 16;
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

// For functions of an element type that a float format chooses at run time: calls work with a null
// pointer of that type.
template <class Work>
[[gnu::always_inline]] inline void with_type(Format format, const Work& work) {
    if (format == Format::f32)
        work(static_cast<float*>(nullptr));
    else
        work(static_cast<BFloat16*>(nullptr));
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
