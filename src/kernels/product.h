// Matrix products: a left-hand side in rows times a right-hand side that was packed before, with an
// epilogue that finishes each block of the result while it lies in the first-level cache.
#pragma once

#include "kernels/format.h"

namespace cait::kernels {

// How a packed matrix lies in memory.
//   panels: float32, [columns / P][k][P] with P of the instruction set's choice.
//   tiles:  bfloat16 pairs, [columns / 32][k / 32][2][16][16]: each 32-bit element holds two values
//           that follow each other in k, as AMX tiles and vdpbf16ps read them.
//   quads:  whole numbers of a byte, for each panel of 32 columns: their scales [32], floats by
//   which
//           the numbers of a column are multiplied, then for each 64 of k: -128 times the sums of
//           the columns [32] (32-bit), and the numbers [2][16][16] in 32-bit elements of four that
//           follow each other in k, as vpdpbusd and AMX tiles read them.
// What lies beyond k or the columns is zero.
enum class Layout : std::uint8_t { panels, tiles, quads };

// Where a matrix [k, columns] is read from for packing: element (r, c) stands at
// data[r * row_step + c * column_step] and is multiplied by scale and, if given, by row_scale[r].
struct PackSource {
    const void* data = nullptr;
    Format format = Format::f32;
    Index rows = 0;  // k
    Index columns = 0;
    Index row_step = 0;
    Index column_step = 1;  // one of the two steps is 1
    float scale = 1;
    const float* row_scale = nullptr;
};

// A packed matrix of somebody else's memory.
struct PackedView {
    const void* data = nullptr;
    Format format = Format::f32;  // of its values: panels of rounded floats count as bf16
    Layout layout = Layout::panels;
    Index rows = 0;
    Index columns = 0;
};

// A left-hand side [m, k]. float32 is read in place: element (i, k) stands at
// data[i * row_step + k * k_step], one of the steps being 1. bfloat16 is read in rows that start at
// a cache line, zero between k and the next multiple of 32, with as many rows readable as the next
// multiple of 16 says. int8 likewise, with 128 between k and the next multiple of 64; row_step
// leads from row to row with their trailers, so that each ends in its scale.
struct Lhs {
    const void* data = nullptr;
    Format format = Format::f32;
    Index row_step = 0;
    Index k_step = 1;
    // int8: the byte that means 0 (0 of rows without negative values), and where a row has its
    // scale, in bytes from its start.
    int zero = 128;
    Index scale_at = 0;
};

// The residual stream around a branch, for rows that belong to several images: rows
// [s * segment_rows, (s + 1) * segment_rows) of the product belong to segment s.
struct Segment {
    const float* residual = nullptr;
    float* out = nullptr;
    float factor = 1;
};

// What happens to the product's value v of row i and column j, in this order:
//   v += bias[j] + row_bias[i]
//   gelu:          before(i, j) = v (where that is wanted), v = GELU(v)
//   gelu_backward: x = before(i, j); after(i, j) = GELU(x), v *= GELU'(x)
//   relu, silu, sigmoid: v = that of v
//   segments:      out(i, j) = residual(i, j) + factor * gain[j] * v, else out(i, j) = v
//   relu_last:     out(i, j) = ReLU(out(i, j)), of segments
// gelu_backward takes no biases or segments, `before` no segments.
struct Epilogue {
    enum class Activation : std::uint8_t { none, gelu, gelu_backward, relu, silu, sigmoid };

    const float* bias = nullptr;
    const float* row_bias = nullptr;
    Activation activation = Activation::none;
    MutableRows before = {};
    MutableRows after = {};
    MutableRows out = {};
    const Segment* segments = nullptr;
    Index segment_rows = 0;
    Index segment_ld = 0;
    const float* gain = nullptr;
    bool relu_last = false;
};

// Blocks of the result that an epilogue sees.
constexpr Index kBlockRows = 32;
constexpr Index kBlockColumns = 192;

// A right-hand side of this many values is taken to lie beyond the second-level cache.
constexpr Index kFarValues = 1 << 18;

// c [m, n] = (accumulate ? c : 0) + a [m, k] · b[k_begin … + k, column_begin … + n]; with an
// epilogue the sums go through it instead, and c is needed only to accumulate from.
struct ProductArgs {
    Index m = 0;
    Index n = 0;
    Index k = 0;
    Lhs a = {};
    PackedView b = {};
    Index k_begin = 0;       // a multiple of 64
    Index column_begin = 0;  // a multiple of 96
    float* c = nullptr;
    Index c_ld = 0;
    bool accumulate = false;
    const Epilogue* epilogue = nullptr;
    void* scratch = nullptr;  // product_scratch(k) bytes
};

// The functions for one number format on one instruction set.
struct ProductKernels {
    Format format;
    Layout layout;
    Index (*packed_bytes)(Index rows, Index columns);
    void (*pack)(const PackSource& source, void* packed);
    void (*multiply)(const ProductArgs& args);
};

// Scratch memory that multiply() may use: a block of float sums and a widened block of `a`.
[[gnu::always_inline]] constexpr Index product_scratch(Index k) {
    return kBlockRows * kBlockColumns * 4 + aligned(kBlockRows * round_up(k, 32) * 4);
}

}  // namespace cait::kernels
