// RoIAlign of one region: rows of the map's window are summed for each row of bins, and what comes
// of that is summed across for all bins of the row at once.
#include "kernels/isa/isa.h"
#include "kernels/isa/lanes.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

void sum_window_rows(const RoiGridArgs& a, const float* map, Index bin, float* to) {
    const RoiRows seen = a.seen[bin];
    const float* weights = a.down + bin * a.rows;
    for_channels<2>(a.columns, [&](Index at, auto registers, auto lanes) {
        constexpr int kRegisters = decltype(registers)::value;
        Vec sums[kRegisters];
        for (int v = 0; v < kRegisters; ++v) sums[v] = set(0.0F);
        const float* from = map + seen.begin * a.row_step + at;
        for (Index y = seen.begin; y < seen.end; ++y, from += a.row_step) {
            const Vec weight = set(weights[y]);
#pragma GCC unroll 2
            for (int v = 0; v < kRegisters; ++v) sums[v] += lanes.get(from + v * kWidth) * weight;
        }
        for (int v = 0; v < kRegisters; ++v) lanes.put(to + at + v * kWidth, sums[v]);
    });
}

// Bins of kRows rows from `row` on.
template <int kRows>
void sum_across(const RoiGridArgs& a, Index row, float* out) {
    const Index lanes = roi_lanes(a.bins);
    for (Index bin = 0; bin < a.bins; bin += kWidth) {
        const float* from = a.between + row * a.columns;
        Vec sums[kRows];
        for (int r = 0; r < kRows; ++r) sums[r] = set(0.0F);
        for (Index x = 0; x < a.columns; ++x) {
            const Vec weights = load(a.across + x * lanes + bin);
#pragma GCC unroll 7
            for (int r = 0; r < kRows; ++r) sums[r] += set(from[r * a.columns + x]) * weights;
        }
        // What a narrow row leaves beyond itself, the next one overwrites.
        for (int r = 0; r < kRows; ++r) {
            const Index at = (row + r) * a.bins + bin;
            const bool room = a.bins <= kWidth && at + kWidth <= a.bins * a.bins;
            if (room || a.bins - bin >= kWidth)
                store(out + at, sums[r]);
            else
                store_part(out + at, sums[r], a.bins - bin);
        }
    }
}

}  // namespace

void roi_grid(const RoiGridArgs& a) {
    constexpr int kTogether = 7;  // both networks of Mask R-CNN pool to a multiple of it
    for (Index c = 0; c < a.channels; ++c) {
        const float* map = a.map + c * a.channel_step;
        float* out = a.out + c * a.bins * a.bins;
        for (Index bin = 0; bin < a.bins; ++bin)
            sum_window_rows(a, map, bin, a.between + bin * a.columns);
        Index row = 0;
        for (; row + kTogether <= a.bins; row += kTogether) sum_across<kTogether>(a, row, out);
        for (; row < a.bins; ++row) sum_across<1>(a, row, out);
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
