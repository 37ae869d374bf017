// Talking heads: linear maps across the heads of attention maps, before and after the softmax.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

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

}  // namespace

void mix_heads(const MixArgs& args, const float* input, float* output) {
    const Index done = args.heads == 4   ? mix_whole<4>(args, input, output)
                       : args.heads == 6 ? mix_whole<6>(args, input, output)
                       : args.heads == 8 ? mix_whole<8>(args, input, output)
                                         : mix_any(args, input, output);
    if (done < args.count) mix_rest(args, input, output, done);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
