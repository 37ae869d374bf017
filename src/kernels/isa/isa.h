// The functions of one instruction set's table; see kernels/table.h for what they do.
#pragma once

#include "kernels/table.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

Index panel_bytes(Index rows, Index columns);
void pack_floats(const PackSource& source, void* packed);
void pack_rounded(const PackSource& source, void* packed);
void multiply_floats(const ProductArgs& args);
void multiply_rounded(const ProductArgs& args);

Index tile_bytes(Index rows, Index columns);
void pack_tiles(const PackSource& source, void* packed);
void multiply_pairs(const ProductArgs& args);
void multiply_plain_tiles(const ProductArgs& args);
void multiply_amx(const ProductArgs& args);  // of the instruction sets that have bfloat16 only

Index quad_bytes(Index rows, Index columns);
void pack_quads(const PackSource& source, void* packed);
void multiply_quads(const ProductArgs& args);
void multiply_plain_byte_tiles(const ProductArgs& args);
void multiply_amx_bytes(const ProductArgs& args);  // of those that have bfloat16 only

void stage(const Rows& from, Index rows, Index columns, float scale, const MutableRows& to);
void stage_transposed(const Rows& from, Index rows, Index columns, BFloat16* to);
void gather_patches(const PatchArgs& args);
float greatest(const float* x, Index count);
void quantize(const float* x, Index rows, Index columns, const ByteRange& range,
              const MutableRows& to);

void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, Index rows,
                Index dim, const MutableRows& y);
void activate(Epilogue::Activation kind, const float* x, Index count, float* y);
void softmax(float* x, Index rows, Index columns, Index ld, Format rounded_to);
void mix_heads(const MixArgs& args, const float* input, float* output);
void rank_logits(const float* x, Index count, Index first, LogitRow& row);
void dot_rows(const RowArgs& args);
void sum_rows(const RowArgs& args);
void residual(const float* x, const float* branch, const float* scale, float factor, Index rows,
              Index dim, float* y);
void multiply_add(const float* x, const float* scale, const float* shift, Index rows, Index columns,
                  float* y);
void depthwise(const DepthwiseArgs& args);
void pool(const PoolArgs& args);
void resize(const ResizeArgs& args);
void roi_grid(const RoiGridArgs& args);
void outlook(const OutlookArgs& args);
void add(const float* x, Index count, float* y);
void add_columns(const Rows& x, Index rows, Index columns, float* sums);

void layer_norm_backward(const float* x, const float* weight, float epsilon, const float* dy,
                         const float* residual, Index rows, Index dim, float* dx, float* d_weight,
                         float* d_bias);
void gelu_backward(const float* x, const float* dy, Index count, float* dx);
void softmax_backward(const float* y, float* dy, Index rows, Index columns, Index ld);
void mix_heads_backward(const MixArgs& args, const float* input, const float* d_output,
                        float* d_weight, float* d_bias);
void residual_backward(const float* dy, const float* branch, const float* scale, float factor,
                       Index rows, Index dim, float* d_branch, float* d_scale);
void roi_grid_backward(const RoiGridBackwardArgs& args);

double multiply_adds(Index rounds, float* sink);
double multiply_bytes(Index rounds, float* sink);

}  // namespace cait::kernels::CAIT_KERNEL_ISA
