// Images of another size, channels last.
#include "kernels/isa/isa.h"
#include "kernels/isa/lanes.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

// Where a pixel of the result lies between two of the source, as PyTorch computes it.
struct Place {
    Index low, high;
    float share;  // of the higher one

    Place(Index at, Index from, Index to) {
        const float exact = float(from) / float(to) * (float(at) + 0.5F) - 0.5F;
        const float inside = exact > 0 ? exact : 0;
        low = Index(inside);
        low = low < from ? low : from - 1;
        high = low + 1 < from ? low + 1 : low;
        share = inside - float(low);
    }
};

Index nearest_place(Index at, Index from, Index to) {
    const Index place = Index(float(at) * (float(from) / float(to)));
    return place < from ? place : from - 1;
}

// The four pixels that surround a place, weighted.
void blend(const float* const (&corners)[4], const float (&shares)[4], Index channels, float* out) {
    const Vec a = set(shares[0]), b = set(shares[1]), c = set(shares[2]), d = set(shares[3]);
    for_channels<4>(channels, [&](Index at, auto registers, auto lanes) {
#pragma GCC unroll 4
        for (int v = 0; v < decltype(registers)::value; ++v) {
            const Index i = at + v * kWidth;
            lanes.put(out + i, lanes.get(corners[0] + i) * a + lanes.get(corners[1] + i) * b +
                                   lanes.get(corners[2] + i) * c + lanes.get(corners[3] + i) * d);
        }
    });
}

}  // namespace

void resize(const ResizeArgs& a) {
    for (Index row = a.row_begin; row < a.row_end; ++row) {
        const Place y(row, a.height, a.out_height);
        float* out = a.out + row * a.out_width * a.out_step;
        for (Index column = 0; column < a.out_width; ++column, out += a.out_step) {
            const auto pixel = [&](Index line, Index place) {
                return a.image + (line * a.width + place) * a.channels;
            };
            if (!a.bilinear) {
                const float* from = pixel(nearest_place(row, a.height, a.out_height),
                                          nearest_place(column, a.width, a.out_width));
                for (Index c = 0; c < a.channels; ++c) out[c] = from[c];
                continue;
            }
            const Place x(column, a.width, a.out_width);
            blend({pixel(y.low, x.low), pixel(y.low, x.high), pixel(y.high, x.low),
                   pixel(y.high, x.high)},
                  {(1 - y.share) * (1 - x.share), (1 - y.share) * x.share, y.share * (1 - x.share),
                   y.share * x.share},
                  a.channels, out);
        }
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
