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

// A place in a row of logits, and what stands there.
struct RankedLogit {
    float value;
    std::int32_t index;
};

// What is known of a row of logits, part after part. Before the first one nothing is `found` and
// `sum` is 0.
struct LogitRow {
    RankedLogit* best =
        nullptr;  // room for `most`: the largest first, of equals the one seen first
    Index most = 0, found = 0;
    float top = 0;       // the largest of all, from which `sum` counts
    double sum = 0;      // of e^(value - top)
    bool finite = true;  // false: not all values were, and nothing else here means anything
};

// How the values of an image are turned into bytes: value = (byte - zero) * scale.
struct ByteRange {
    float scale = 0;    // not a number where a value is not finite
    float inverse = 0;  // of the scale; 0 where all values are
    int zero = 128;     // 0 where no value is negative
};

// Patches under a convolution's kernel as rows of a left-hand side, for output pixels [first,
// first + count) of one image, row by row. Value (c, y, x) stands at image[y * row_step +
// x * column_step + c * channel_step]. channel_step == 1: the order of k is (ky, kx, c); else
// column_step == 1 and it is (c, ky, kx). What lies beyond the image is zero.
// A left-hand side of int8 is gathered from one of `quantized` pixels, whose zero it has, and gets
// the scale.
struct PatchArgs {
    const float* image = nullptr;
    const std::uint8_t* quantized = nullptr;  // in place of image; channels last
    ByteRange range = {};
    Index height = 0, width = 0, channels = 0;
    Index row_step = 0, column_step = 0, channel_step = 1;
    Index kernel_height = 1, kernel_width = 1, stride = 1;
    Index padding_top = 0, padding_left = 0;  // less than none where the first taps are left out
    Index out_width = 0;
    Index first = 0, count = 0;
    MutableRows to = {};
};

// Depth-wise convolution of rows [row_begin, row_end) of one image's output, all dense and channels
// last; weight [kernel_height * kernel_width, channels].
struct DepthwiseArgs {
    const float* image = nullptr;
    Index height = 0, width = 0, channels = 0;
    Index kernel_height = 1, kernel_width = 1, stride = 1, padding = 0;
    Index row_begin = 0, row_end = 0;
    Index out_width = 0;
    const float* weight = nullptr;
    const float* bias = nullptr;
    Epilogue::Activation activation = Epilogue::Activation::none;
    float* out = nullptr;            // of the image's first row
    const float* zeros = nullptr;    // [channels], what lies beyond the image
    const float** pixels = nullptr;  // room for a pointer to every pixel that the kernel meets
};

// Pooling of rows [row_begin, row_end) of one image's output, channels last. What lies beyond the
// image never is the maximum and does not count in the average.
struct PoolArgs {
    const float* image = nullptr;
    Index height = 0, width = 0, channels = 0;
    bool maximum = true;
    Index kernel = 2, stride = 2, padding = 0;
    Index row_begin = 0, row_end = 0;
    Index out_width = 0;
    float* out = nullptr;  // of the image's first row
};

// Rows [row_begin, row_end) of an image in another size, channels last: linear between the centres
// of pixels, or the nearest pixel.
struct ResizeArgs {
    const float* image = nullptr;
    Index height = 0, width = 0, channels = 0;
    bool bilinear = true;
    Index row_begin = 0, row_end = 0;
    Index out_height = 0, out_width = 0;
    Index out_step = 0;    // floats from one pixel of the result to the next
    float* out = nullptr;  // of the image's first row
};

// Of the rows of a window those that a bin sees.
struct RoiRows {
    Index begin = 0, end = 0;
};

// RoIAlign of one region: bin (i, j) of a channel is the sum over rows y and columns x of a window
// of the map of down[i, y] * across[x, j] * map[y, x].
struct RoiGridArgs {
    const float* map = nullptr;  // the window's first place, in the first channel
    Index channels = 0, channel_step = 0, row_step = 0;
    Index rows = 0, columns = 0;    // of the window
    Index bins = 0;                 // down and across
    const float* down = nullptr;    // [bins, rows]
    const RoiRows* seen = nullptr;  // [bins]
    const float* across = nullptr;  // [columns, roi_lanes(bins)]
    float* between = nullptr;       // room for [bins, columns]
    float* out = nullptr;           // [channels, bins, bins]
};
[[gnu::always_inline]] constexpr Index roi_lanes(Index bins) { return round_up(bins, 16); }

// Adds to such a window what the gradient of its bins is for the map.
struct RoiGridBackwardArgs {
    float* map = nullptr;
    Index channels = 0, channel_step = 0, row_step = 0;
    Index rows = 0, columns = 0;
    Index bins = 0;
    const float* down = nullptr;      // [bins, rows]
    const RoiRows* seen = nullptr;    // [bins]
    const float* across = nullptr;    // [bins, columns]
    const float* gradient = nullptr;  // [channels, bins, bins]
};

// Outlook attention of one image for heads [head_begin, head_end): values [height * width] rows of
// dim elements, value_ld apart; scores [windows, heads, kernel^2, kernel^2] → out [height * width,
// dim].
struct OutlookArgs {
    Index height = 0, width = 0, dim = 0, heads = 1;
    Index kernel = 3, stride = 1;
    float scale = 1;
    Index head_begin = 0, head_end = 1;
    const float* values = nullptr;
    Index value_ld = 0;
    const float* scores = nullptr;
    float* out = nullptr;
    void* scratch = nullptr;  // outlook_scratch(heads, kernel) bytes
};
[[gnu::always_inline]] constexpr Index outlook_scratch(Index heads, Index kernel) {
    constexpr Index kWidest = 16;  // floats of a register
    const Index area = kernel * kernel;
    return area * 16 + (round_up(heads * area, kWidest) + kWidest) * area * 4;
}

// Rows [m, …] times rows [count, columns], each `ld` apart, read where they lie.
struct RowArgs {
    const float* left = nullptr;
    Index left_ld = 0;
    Index m = 1;
    const float* rows = nullptr;
    Index ld = 0, count = 0, columns = 0;
    float scale = 1;
    float* out = nullptr;
    Index out_ld = 0;
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
    void (*roi_grid)(const RoiGridBackwardArgs& args);
};

struct KernelTable {
    const char* name;

    // Products by the format of their operands. For bfloat16 there are up to three ways, which
    // dispatch.h chooses from: floats that are rounded, vdpbf16ps and AMX tiles. The latter two
    // have twins in plain C++ where the instructions are missing, for tests.
    ProductKernels f32, rounded, pairs, tiles;
    // int8, in registers and with AMX tiles or their twin: the same numbers everywhere.
    ProductKernels quads, byte_tiles;

    // Rows as a product's left-hand side reads them: converted, times `scale`, padded with zeros.
    void (*stage)(const Rows& from, Index rows, Index columns, float scale, const MutableRows& to);
    // from [rows, columns] → to [columns, lhs_ld(bf16, rows)], padded with zeros.
    void (*stage_transposed)(const Rows& from, Index rows, Index columns, BFloat16* to);
    void (*gather_patches)(const PatchArgs& args);
    // The greatest absolute value; not a number where one is not finite.
    float (*greatest)(const float* x, Index count);
    // x [rows, columns] → rows of a left-hand side that all have this range.
    void (*quantize)(const float* x, Index rows, Index columns, const ByteRange& range,
                     const MutableRows& to);

    // x [rows, dim] → y, padded like a left-hand side.
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon,
                       Index rows, Index dim, const MutableRows& y);
    // None of the activations that need more than x; GELU in its erf form. y may be x.
    void (*activate)(Epilogue::Activation kind, const float* x, Index count, float* y);
    // Each row over its `columns`; in place. A result that is rounded to bfloat16 afterwards is
    // computed with shorter polynomials.
    void (*softmax)(float* x, Index rows, Index columns, Index ld, Format rounded_to);
    void (*mix_heads)(const MixArgs& args, const float* input, float* output);
    // Values [first, first + count) of the row, which stand at x.
    void (*rank_logits)(const float* x, Index count, Index first, LogitRow& row);
    // out [m, count] = scale * left [m, columns] · rows^T
    void (*dot_rows)(const RowArgs& args);
    // out [m, columns] = scale * left [m, count] · rows
    void (*sum_rows)(const RowArgs& args);
    // y = x + factor * scale * branch; scale [dim] may be null.
    void (*residual)(const float* x, const float* branch, const float* scale, float factor,
                     Index rows, Index dim, float* y);
    // y = x * scale[c] + shift[c], either of which may be null; y may be x.
    void (*multiply_add)(const float* x, const float* scale, const float* shift, Index rows,
                         Index columns, float* y);
    void (*depthwise)(const DepthwiseArgs& args);
    void (*pool)(const PoolArgs& args);
    void (*resize)(const ResizeArgs& args);
    void (*roi_grid)(const RoiGridArgs& args);
    void (*outlook)(const OutlookArgs& args);
    void (*add)(const float* x, Index count, float* y);  // y += x
    void (*add_columns)(const Rows& x, Index rows, Index columns, float* sums);

    TrainKernels train;
    Index width;  // floats of a register

    // Nothing but multiply-adds in registers, `rounds` times around: what the processor could do at
    // best. Returns the operations done (a multiply-add is 2); reads and writes *sink, which keeps
    // the compiler from leaving them out.
    double (*multiply_adds)(Index rounds, float* sink);
    double (*multiply_bytes)(Index rounds, float* sink);  // the same for int8
};

// Only for a processor that has the instructions; see kernels/dispatch.h.
const KernelTable& portable_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx_vnni_kernels();  // those of avx2 but for int8
const KernelTable& avx512_kernels();
const KernelTable& avx512_vnni_kernels();  // those of avx512 but for int8
const KernelTable& avx512_bf16_kernels();

}  // namespace cait::kernels
