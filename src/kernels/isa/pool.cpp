// Maxima and averages of windows, channels last.
#include "kernels/isa/isa.h"
#include "kernels/isa/lanes.h"
#include "kernels/isa/window.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

template <bool Max>
void pool_window(const PoolArgs& a, Index top, Index left, float* out) {
    const Inside rows(top, a.height, a.kernel), columns(left, a.width, a.kernel);
    const Index width = columns.to - columns.from, step = a.channels;
    const Vec count = set(float((rows.to - rows.from) * width));
    for_channels<4>(a.channels, [&](Index c, auto registers, auto lanes) {
        constexpr int kRegisters = decltype(registers)::value;
        Vec all[kRegisters];
        for (int v = 0; v < kRegisters; ++v) all[v] = set(Max ? -__builtin_inff() : 0.0F);
        for (Index ky = rows.from; ky < rows.to; ++ky) {
            const float* x = a.image + ((top + ky) * a.width + left + columns.from) * step + c;
            for (Index i = 0; i < width; ++i, x += step)
#pragma GCC unroll 4
                for (int v = 0; v < kRegisters; ++v) {
                    const Vec here = lanes.get(x + v * kWidth);
                    all[v] = Max ? max(all[v], here) : all[v] + here;
                }
        }
        for (int v = 0; v < kRegisters; ++v)
            lanes.put(out + c + v * kWidth, Max ? all[v] : all[v] / count);
    });
}

}  // namespace

void pool(const PoolArgs& a) {
    for (Index row = a.row_begin; row < a.row_end; ++row)
        for (Index column = 0; column < a.out_width; ++column) {
            const Index top = row * a.stride - a.padding, left = column * a.stride - a.padding;
            float* out = a.out + (row * a.out_width + column) * a.channels;
            if (a.maximum)
                pool_window<true>(a, top, left, out);
            else
                pool_window<false>(a, top, left, out);
        }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
