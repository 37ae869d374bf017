// A few rows times many, read where they lie: for as few as these, packing would take longer than
// the product.
#include "kernels/isa/isa.h"
#include "kernels/isa/lanes.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr Index kMostRows = 4;  // on the left, that share what is loaded of the others

// The left-hand rows from `first` on, `kRows` of them.
template <int kRows>
void dot_some(const RowArgs& a, Index first) {
    const float* left = a.left + first * a.left_ld;
    for (Index r = 0; r < a.count; ++r) {
        const float* row = a.rows + r * a.ld;
        Vec sums[kRows];
        for (int i = 0; i < kRows; ++i) sums[i] = set(0.0F);
        for_channels<1>(a.columns, [&](Index c, auto, auto lanes) {
            const Vec x = lanes.get(row + c);
#pragma GCC unroll 4
            for (int i = 0; i < kRows; ++i) sums[i] += lanes.get(left + i * a.left_ld + c) * x;
        });
        for (int i = 0; i < kRows; ++i) a.out[(first + i) * a.out_ld + r] = a.scale * sum(sums[i]);
    }
}

template <int kRows>
void sum_some(const RowArgs& a, Index first) {
    // As many sums as fit into registers.
    constexpr int kMost = kWidth == 16 || kRows == 1 ? 4 : 2;
    const float* left = a.left + first * a.left_ld;
    for_channels<kMost>(a.columns, [&](Index c, auto registers, auto lanes) {
        constexpr int kRegisters = decltype(registers)::value;
        Vec sums[kRows][kRegisters];
        for (int i = 0; i < kRows; ++i)
            for (int v = 0; v < kRegisters; ++v) sums[i][v] = set(0.0F);
        const float* row = a.rows + c;
        for (Index r = 0; r < a.count; ++r, row += a.ld)
#pragma GCC unroll 4
            for (int v = 0; v < kRegisters; ++v) {
                const Vec x = lanes.get(row + v * kWidth);
#pragma GCC unroll 4
                for (int i = 0; i < kRows; ++i) sums[i][v] += set(left[i * a.left_ld + r]) * x;
            }
        for (int i = 0; i < kRows; ++i)
            for (int v = 0; v < kRegisters; ++v)
                lanes.put(a.out + (first + i) * a.out_ld + c + v * kWidth,
                          set(a.scale) * sums[i][v]);
    });
}

}  // namespace

void dot_rows(const RowArgs& a) {
    for (Index first = 0; first < a.m; first += kMostRows) switch (a.m - first) {
            case 1: dot_some<1>(a, first); break;
            case 2: dot_some<2>(a, first); break;
            case 3: dot_some<3>(a, first); break;
            default: dot_some<4>(a, first);
        }
}

void sum_rows(const RowArgs& a) {
    for (Index first = 0; first < a.m; first += kMostRows) switch (a.m - first) {
            case 1: sum_some<1>(a, first); break;
            case 2: sum_some<2>(a, first); break;
            case 3: sum_some<3>(a, first); break;
            default: sum_some<4>(a, first);
        }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
