// The loops that are compiled once per instruction set, as one table of functions for each.
#pragma once

#include "kernels/product.h"

namespace cait::kernels {

// Head mixing of talking heads: output map h = bias[h] + sum over g of weight[h * heads + g] times
// input map g. The first `count` floats of each map are meant; maps lie map_step floats apart.
// Transposed: weight[g * heads + h], no bias.
struct MixArgs {
    Index heads = 0;
    Index count = 0;
    Index map_step = 0;
    const float* weight = nullptr;
    const float* bias = nullptr;
    bool transposed = false;
};

// Backward, beside the products.
struct TrainKernels {
    // Adds to d_weight and d_bias; dx = (residual ? residual : 0) + gradient. dx may be dy or
    // residual.
    void (*layer_norm)(const float* x, const float* weight, float epsilon, const float* dy,
                       const float* residual, Index rows, Index dim, float* dx, float* d_weight,
                       float* d_bias);
    void (*gelu)(const float* x, const float* dy, Index count, float* dx);  // dx may be dy
    // dx = y * (dy - sum of y * dy), in place of dy.
    void (*softmax)(const float* y, float* dy, Index rows, Index columns, Index ld);
    // d_weight[h * heads + g] += sum of d_output_h * input_g, d_bias[h] += sum of d_output_h
    void (*mix_heads)(const MixArgs& args, const float* input, const float* d_output,
                      float* d_weight, float* d_bias);
    // d_branch = factor * scale * dy; d_scale[c] += sum of factor * dy * branch (either may be
    // null)
    void (*residual)(const float* dy, const float* branch, const float* scale, float factor,
                     Index rows, Index dim, float* d_branch, float* d_scale);
};

struct KernelTable {
    const char* name;

    // Products by the format of their operands. For bfloat16 there are up to three ways, which
    // dispatch.h chooses from: floats that are rounded, vdpbf16ps and AMX tiles. The latter two
    // have twins in plain C++ where the instructions are missing, for tests.
    ProductKernels f32, rounded, pairs, tiles;

    // Rows as a product's left-hand side reads them: converted, times `scale`, padded with zeros.
    void (*stage)(const Rows& from, Index rows, Index columns, float scale, const MutableRows& to);
    // from [rows, columns] → to [columns, lhs_ld(bf16, rows)], padded with zeros.
    void (*stage_transposed)(const Rows& from, Index rows, Index columns, BFloat16* to);

    // x [rows, dim] → y, padded like a left-hand side.
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon,
                       Index rows, Index dim, const MutableRows& y);
    void (*gelu)(const float* x, Index count, float* y);  // erf form
    // Each row over its `columns`; in place. A result that is rounded to bfloat16 afterwards is
    // computed with shorter polynomials.
    void (*softmax)(float* x, Index rows, Index columns, Index ld, Format rounded_to);
    void (*mix_heads)(const MixArgs& args, const float* input, float* output);
    // y = x + factor * scale * branch; scale [dim] may be null.
    void (*residual)(const float* x, const float* branch, const float* scale, float factor,
                     Index rows, Index dim, float* y);
    void (*add)(const float* x, Index count, float* y);  // y += x
    void (*add_columns)(const Rows& x, Index rows, Index columns, float* sums);

    TrainKernels train;
    Index width;  // floats of a register

    // Nothing but multiply-adds in registers, `rounds` times around: what the processor could do at
    // best. Returns the operations done (a multiply-add is 2); reads and writes *sink, which keeps
    // the compiler from leaving them out.
    double (*multiply_adds)(Index rounds, float* sink);
};

// Only for a processor that has the instructions; see kernels/dispatch.h.
const KernelTable& portable_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx512_kernels();
const KernelTable& avx512_bf16_kernels();

}  // namespace cait::kernels
