// Backward through softmax and through the mixing of heads.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

// Adds up what four gradients and four maps have in common; the rest is left to the caller.
Index mix_products(Index size, Index step, const float* gradients, const float* maps,
                   float* d_weight, float* d_bias) {
    Vec dots[4][4], totals[4];
    for (int h = 0; h < 4; ++h) {
        totals[h] = set(0.0F);
        for (int g = 0; g < 4; ++g) dots[h][g] = set(0.0F);
    }
    Index i = 0;
    for (; i + kWidth <= size; i += kWidth) {
        Vec in[4];
#pragma GCC unroll 4
        for (int g = 0; g < 4; ++g) in[g] = load(maps + g * step + i);
#pragma GCC unroll 4
        for (int h = 0; h < 4; ++h) {
            const Vec gradient = load(gradients + h * step + i);
            totals[h] += gradient;
#pragma GCC unroll 4
            for (int g = 0; g < 4; ++g) dots[h][g] += gradient * in[g];
        }
    }
    for (int h = 0; h < 4; ++h) {
        d_bias[h] += sum(totals[h]);
        for (int g = 0; g < 4; ++g) d_weight[h * 4 + g] += sum(dots[h][g]);
    }
    return i;
}

}  // namespace

void softmax_backward(const float* y, float* dy, Index rows, Index columns, Index ld) {
    for (Index r = 0; r < rows; ++r, y += ld, dy += ld) {
        Vec total = set(0.0F);
        Index c = 0;
        for (; c + kWidth <= columns; c += kWidth) total += load(y + c) * load(dy + c);
        float dot = sum(total);
        for (; c < columns; ++c) dot += y[c] * dy[c];
        for (c = 0; c + kWidth <= columns; c += kWidth)
            store(dy + c, load(y + c) * (load(dy + c) - set(dot)));
        for (; c < columns; ++c) dy[c] = y[c] * (dy[c] - dot);
    }
}

void mix_heads_backward(const MixArgs& args, const float* input, const float* d_output,
                        float* d_weight, float* d_bias) {
    const Index size = args.count, step = args.map_step, heads = args.heads;
    const Index done = heads == 4 ? mix_products(size, step, d_output, input, d_weight, d_bias) : 0;
    for (Index h = 0; h < heads; ++h) {
        const float* gradient = d_output + h * step;
        Vec total = set(0.0F);
        Index i = done;
        for (; i + kWidth <= size; i += kWidth) total += load(gradient + i);
        float all = sum(total);
        for (; i < size; ++i) all += gradient[i];
        d_bias[h] += all;
        for (Index g = 0; g < heads; ++g) {
            const float* map = input + g * step;
            Vec products = set(0.0F);
            for (i = done; i + kWidth <= size; i += kWidth)
                products += load(gradient + i) * load(map + i);
            float dot = sum(products);
            for (; i < size; ++i) dot += gradient[i] * map[i];
            d_weight[h * heads + g] += dot;
        }
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
