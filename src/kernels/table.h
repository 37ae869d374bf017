// The loops that are compiled once per instruction set, as one table of functions for each. All
// matrices are row-major floats; "ld" is the distance between rows in elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cait::kernels {

using Index = std::int64_t;

// Where a matrix of `rows` × `columns` is read from for packing: element (r, c) stands at
// data[r * row_step + c * column_step] and is multiplied by scale and, if given, by row_scale[r].
struct PackSource {
    const float* data = nullptr;
    Index rows = 0;
    Index columns = 0;
    Index row_step = 0;
    Index column_step = 1;
    float scale = 1;
    const float* row_scale = nullptr;
    bool bfloat16 = false;  // round to bfloat16 values
};

// c [m, n] = (accumulate ? c : bias or 0) + a [m, k] · packed [k, n]. Element (i, k) of `a` stands
// at a[i * a_row + k * a_step]; one of the two steps is 1.
struct GemmArgs {
    Index m = 0;
    Index n = 0;
    Index k = 0;
    const float* a = nullptr;
    Index a_row = 0;
    Index a_step = 1;
    const float* packed = nullptr;
    float* c = nullptr;
    Index c_ld = 0;
    bool accumulate = false;
    const float* bias = nullptr;  // [n]; only without accumulate
};

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

struct KernelTable {
    const char* name;

    Index (*packed_size)(Index rows, Index columns);  // floats
    void (*pack)(const PackSource& source, float* packed);
    void (*gemm)(const GemmArgs& args);

    // x [rows, dim] → y; y may be x. Rounded to bfloat16 values on request.
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon,
                       Index rows, Index dim, float* y, bool bfloat16);
    // Adds to d_weight and d_bias; dx = (residual ? residual : 0) + gradient. dx may be dy or
    // residual.
    void (*layer_norm_backward)(const float* x, const float* weight, float epsilon, const float* dy,
                                const float* residual, Index rows, Index dim, float* dx,
                                float* d_weight, float* d_bias);

    // GELU, erf form. Backward: y = gelu(x) unless y is null, dx = dy * gelu'(x); dx may be dy.
    void (*gelu)(const float* x, Index count, float* y, bool bfloat16);
    void (*gelu_backward)(const float* x, const float* dy, Index count, float* y, float* dx,
                          bool bfloat16);

    // Each row over its `columns`; in place.
    void (*softmax)(float* x, Index rows, Index columns);
    // dx = y * (dy - sum of y * dy), in place of dy.
    void (*softmax_backward)(const float* y, float* dy, Index rows, Index columns);
    void (*mix_heads)(const MixArgs& args, const float* input, float* output);
    // d_weight[h * heads + g] += sum of d_output_h * input_g, d_bias[h] += sum of d_output_h
    void (*mix_heads_backward)(const MixArgs& args, const float* input, const float* d_output,
                               float* d_weight, float* d_bias);

    // y = x + factor * scale * branch; scale [dim] may be null.
    void (*residual)(const float* x, const float* branch, const float* scale, float factor,
                     Index rows, Index dim, float* y);
    // d_branch = factor * scale * dy; d_scale[c] += sum of factor * dy * branch (either may be
    // null)
    void (*residual_backward)(const float* dy, const float* branch, const float* scale,
                              float factor, Index rows, Index dim, float* d_branch, float* d_scale);

    void (*scale)(const float* x, float factor, Index count, float* y, bool bfloat16);
    void (*add)(const float* x, Index count, float* y);  // y += x
    // y = x, past the caches: for what is not read again soon.
    void (*put_away)(const float* x, Index count, float* y);
    void (*add_columns)(const float* x, Index rows, Index columns, Index ld, float* sums);
    void (*to_bfloat16)(const float* x, Index count, std::uint16_t* y);
    void (*from_bfloat16)(const std::uint16_t* x, Index count, float* y);
};

// Only for a processor that has the instructions; see kernels/dispatch.h.
const KernelTable& portable_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx512_kernels();

}  // namespace cait::kernels
