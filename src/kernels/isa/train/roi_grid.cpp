// The gradient of one region's RoIAlign for the map: each row of bins is spread over the columns of
// the window, and that over the rows that it sees.
#include "kernels/isa/isa.h"
#include "kernels/isa/lanes.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

void spread_row(const RoiGridBackwardArgs& a, Index bin, const float* gradient, float* map) {
    const RoiRows seen = a.seen[bin];
    const float* weights = a.down + bin * a.rows;
    for_channels<4>(a.columns, [&](Index at, auto registers, auto lanes) {
        constexpr int kRegisters = decltype(registers)::value;
        Vec sums[kRegisters];
        for (int v = 0; v < kRegisters; ++v) sums[v] = set(0.0F);
        for (Index j = 0; j < a.bins; ++j) {
            const Vec each = set(gradient[bin * a.bins + j]);
            const float* across = a.across + j * a.columns + at;
#pragma GCC unroll 4
            for (int v = 0; v < kRegisters; ++v) sums[v] += lanes.get(across + v * kWidth) * each;
        }
        float* to = map + seen.begin * a.row_step + at;
        for (Index y = seen.begin; y < seen.end; ++y, to += a.row_step) {
            const Vec weight = set(weights[y]);
#pragma GCC unroll 4
            for (int v = 0; v < kRegisters; ++v)
                lanes.put(to + v * kWidth, lanes.get(to + v * kWidth) + sums[v] * weight);
        }
    });
}

}  // namespace

void roi_grid_backward(const RoiGridBackwardArgs& a) {
    for (Index c = 0; c < a.channels; ++c)
        for (Index bin = 0; bin < a.bins; ++bin)
            if (a.seen[bin].begin < a.seen[bin].end)
                spread_row(a, bin, a.gradient + c * a.bins * a.bins, a.map + c * a.channel_step);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
