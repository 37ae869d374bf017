// What happens to attention maps between the two products: softmax over the keys and the mixing of
// heads that talking heads add before and after it.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

void softmax_row(float* x, Index columns) {
    Vec tops = set(x[0]);
    Index c = 0;
    for (; c + kWidth <= columns; c += kWidth) tops = max(tops, load(x + c));
    float top = largest(tops);
    for (; c < columns; ++c) top = x[c] > top ? x[c] : top;

    Vec total = set(0.0F);
    for (c = 0; c + kWidth <= columns; c += kWidth) {
        const Vec e = exponential(load(x + c) - set(top));
        total += e;
        store(x + c, e);
    }
    float all = sum(total);
    if (c < columns) {
        const Index left = columns - c;
        store_part(x + c, exponential(load_part(x + c, left) - set(top)), left);
        for (Index i = c; i < columns; ++i) all += x[i];
    }
    const float inverse = 1.0F / all;
    for (c = 0; c + kWidth <= columns; c += kWidth) store(x + c, load(x + c) * set(inverse));
    for (; c < columns; ++c) x[c] *= inverse;
}

float mix_weight(const MixArgs& args, Index h, Index g) {
    return args.transposed ? args.weight[g * args.heads + h] : args.weight[h * args.heads + g];
}

// What is left behind the last whole register.
void mix_rest(const MixArgs& args, const float* input, float* output, Index i) {
    const Index left = args.count - i;
    for (Index h = 0; h < args.heads; ++h) {
        Vec mixed = set(args.bias == nullptr ? 0.0F : args.bias[h]);
        for (Index g = 0; g < args.heads; ++g)
            mixed += set(mix_weight(args, h, g)) * load_part(input + g * args.map_step + i, left);
        store_part(output + h * args.map_step + i, mixed, left);
    }
}

// A fixed number of heads: weights and maps stay in registers.
template <int Heads>
Index mix_whole(const MixArgs& args, const float* input, float* output) {
    Vec weights[Heads][Heads], bias[Heads];
    for (int h = 0; h < Heads; ++h) {
        bias[h] = set(args.bias == nullptr ? 0.0F : args.bias[h]);
        for (int g = 0; g < Heads; ++g) weights[h][g] = set(mix_weight(args, h, g));
    }
    Index i = 0;
    for (; i + kWidth <= args.count; i += kWidth) {
        Vec in[Heads];
#pragma GCC unroll 8
        for (int g = 0; g < Heads; ++g) in[g] = load(input + g * args.map_step + i);
#pragma GCC unroll 8
        for (int h = 0; h < Heads; ++h) {
            Vec mixed = bias[h];
#pragma GCC unroll 8
            for (int g = 0; g < Heads; ++g) mixed += weights[h][g] * in[g];
            store(output + h * args.map_step + i, mixed);
        }
    }
    return i;
}

// Any number of heads.
Index mix_any(const MixArgs& args, const float* input, float* output) {
    Index i = 0;
    for (; i + kWidth <= args.count; i += kWidth)
        for (Index h = 0; h < args.heads; ++h) {
            Vec mixed = set(args.bias == nullptr ? 0.0F : args.bias[h]);
            for (Index g = 0; g < args.heads; ++g)
                mixed += set(mix_weight(args, h, g)) * load(input + g * args.map_step + i);
            store(output + h * args.map_step + i, mixed);
        }
    return i;
}

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

void softmax(float* x, Index rows, Index columns) {
    for (Index r = 0; r < rows; ++r) softmax_row(x + r * columns, columns);
}

void softmax_backward(const float* y, float* dy, Index rows, Index columns) {
    for (Index r = 0; r < rows; ++r, y += columns, dy += columns) {
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

void mix_heads(const MixArgs& args, const float* input, float* output) {
    const Index done =
        args.heads == 4 ? mix_whole<4>(args, input, output) : mix_any(args, input, output);
    if (done < args.count) mix_rest(args, input, output, done);
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
