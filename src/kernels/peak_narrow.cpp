// The roofs of bfloat16 products and of tiles. Target attributes let any x86-64 compiler build
// them; they run only where system/isa.h found the instructions.
#include "cait/error.h"
#include "kernels/peak.h"
#include "system/tile_trial.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cait::kernels {

#if defined(__x86_64__)

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]] double bf16_dot_products(
    std::int64_t rounds, float* sink) {
    constexpr int kSums = 12;
    __m512 sums[kSums];
    for (__m512& one : sums) one = _mm512_setzero_ps();
    const __m512 start = _mm512_set1_ps(*sink);
    const __m512bh a = _mm512_cvtne2ps_pbh(start, start);
    for (std::int64_t round = 0; round < rounds; ++round)
        for (__m512& one : sums) one = _mm512_dpbf16_ps(one, a, a);
    for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
    alignas(64) float lanes[16];
    _mm512_store_ps(lanes, sums[0]);
    *sink = lanes[0];
    return 2.0 * 32 * kSums * double(rounds);  // 16 sums of 2 products each
}

namespace {

[[gnu::target("amx-tile")]] void start_tiles(const void* operands) {
    const TileConfig config = full_tiles();
    _tile_loadconfig(&config);
    asm volatile("" ::: "memory");  // what the tile instructions read is unknown to the compiler
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_loadd(6, operands, 64);
    _tile_loadd(7, operands, 64);
}

}  // namespace

// Of zeros: the time does not depend on values.
[[gnu::target("amx-tile,amx-bf16")]] double bf16_tile_products(std::int64_t rounds, float* sink) {
    alignas(64) float sums[16][16] = {};
    start_tiles(sums);
    for (std::int64_t round = 0; round < rounds; ++round) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    _tile_stored(0, sums, 64);
    _tile_release();
    asm volatile("" ::: "memory");
    *sink = sums[0][0];
    return 2.0 * 16 * 16 * 32 * 6 * double(rounds);
}

[[gnu::target("amx-tile,amx-int8")]] double int8_tile_products(std::int64_t rounds, float* sink) {
    alignas(64) std::int32_t sums[16][16] = {};
    start_tiles(sums);
    for (std::int64_t round = 0; round < rounds; ++round) {
        _tile_dpbusd(0, 6, 7);
        _tile_dpbusd(1, 6, 7);
        _tile_dpbusd(2, 6, 7);
        _tile_dpbusd(3, 6, 7);
        _tile_dpbusd(4, 6, 7);
        _tile_dpbusd(5, 6, 7);
    }
    _tile_stored(0, sums, 64);
    _tile_release();
    asm volatile("" ::: "memory");
    *sink = float(sums[0][0]);
    return 2.0 * 16 * 16 * 64 * 6 * double(rounds);
}

#else

double bf16_dot_products(std::int64_t, float*) {
    throw Error("bf16_dot_products: expected an x86-64 processor");
}
double bf16_tile_products(std::int64_t, float*) {
    throw Error("bf16_tile_products: expected an x86-64 processor");
}
double int8_tile_products(std::int64_t, float*) {
    throw Error("int8_tile_products: expected an x86-64 processor");
}

#endif

}  // namespace cait::kernels
