// The handful of tile functions that AMX kernels are written against, twice: the instructions, and
// plain loops that give the same results on any processor, so that the kernels' logic is tested
// everywhere. Eight tiles of 16 rows of 64 bytes; 0 to 3 hold sums, the others operands.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/format.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

constexpr int kTileRows = 16;
constexpr Index kTileBytes = 1024;

// Plain loops.
class PlainTiles {
public:
    template <int T>
    void zero() {
        std::memset(tiles_[T], 0, kTileBytes);
    }
    template <int T>
    void load(const void* from, Index row_bytes) {
        for (int r = 0; r < kTileRows; ++r)
            std::memcpy(tiles_[T] + r * 64, static_cast<const char*>(from) + r * row_bytes, 64);
    }
    template <int T>
    void store(void* to, Index row_bytes) {
        for (int r = 0; r < kTileRows; ++r)
            std::memcpy(static_cast<char*>(to) + r * row_bytes, tiles_[T] + r * 64, 64);
    }
    // sums [16, 16] += a [16, 32] · b, which holds pairs along k: [16, 16, 2]
    template <int Sums, int A, int B>
    void dot() {
        float sums[16][16];
        std::uint16_t a[16][32], b[16][32];
        std::memcpy(sums, tiles_[Sums], kTileBytes);
        std::memcpy(a, tiles_[A], kTileBytes);
        std::memcpy(b, tiles_[B], kTileBytes);
        for (int m = 0; m < 16; ++m)
            for (int k = 0; k < 32; ++k)
                for (int n = 0; n < 16; ++n)
                    sums[m][n] += widened(a[m][k]) * widened(b[k / 2][2 * n + k % 2]);
        std::memcpy(tiles_[Sums], sums, kTileBytes);
    }
    // sums [16, 16] += a [16, 64], from 0 to 255, · b, from -128 to 127 in quads along k:
    // [16, 16, 4]; 32-bit whole numbers
    template <int Sums, int A, int B>
    void dot_bytes() {
        std::int32_t sums[16][16];
        std::uint8_t a[16][64];
        std::int8_t b[16][64];
        std::memcpy(sums, tiles_[Sums], kTileBytes);
        std::memcpy(a, tiles_[A], kTileBytes);
        std::memcpy(b, tiles_[B], kTileBytes);
        for (int m = 0; m < 16; ++m)
            for (int k = 0; k < 64; ++k)
                for (int n = 0; n < 16; ++n)
                    sums[m][n] += std::int32_t(a[m][k]) * std::int32_t(b[k / 4][4 * n + k % 4]);
        std::memcpy(tiles_[Sums], sums, kTileBytes);
    }

private:
    static float widened(std::uint16_t half) {
        const std::uint32_t bits = std::uint32_t(half) << 16;
        float result;
        std::memcpy(&result, &bits, sizeof result);
        return result;
    }

    char tiles_[8][kTileBytes] = {};
};

#if defined(__AVX512BF16__)
// The instructions. Constructed where tiles are used and only where system/isa.h says that they
// work: loads palette 1 explicitly (a processor may not say that it has it) and leaves the tiles
// empty.
class AmxTiles {
public:
    AmxTiles() {
        struct alignas(64) {
            std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
            std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } configuration;
        asm volatile("ldtilecfg %0" ::"m"(configuration));
    }
    AmxTiles(const AmxTiles&) = delete;
    AmxTiles& operator=(const AmxTiles&) = delete;
    ~AmxTiles() { asm volatile("tilerelease"); }

    template <int T>
    void zero() {
        asm volatile("tilezero %%tmm%c0" ::"i"(T));
    }
    template <int T>
    void load(const void* from, Index row_bytes) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(T)
                     : "memory");
    }
    template <int T>
    void store(void* to, Index row_bytes) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(T) : "memory");
    }
    template <int Sums, int A, int B>
    void dot() {
        asm volatile("tdpbf16ps %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(B), "i"(A), "i"(Sums));
    }
    template <int Sums, int A, int B>
    void dot_bytes() {
        asm volatile("tdpbusd %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(B), "i"(A), "i"(Sums));
    }
};
#endif

}  // namespace cait::kernels::CAIT_KERNEL_ISA
