// The functions of one instruction set's table; see kernels/table.h for what they do.
#pragma once

#include "kernels/table.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

Index packed_size(Index rows, Index columns);
void pack(const PackSource& source, float* packed);
void gemm(const GemmArgs& args);

void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, Index rows,
                Index dim, float* y, bool bfloat16);
void layer_norm_backward(const float* x, const float* weight, float epsilon, const float* dy,
                         const float* residual, Index rows, Index dim, float* dx, float* d_weight,
                         float* d_bias);

void gelu(const float* x, Index count, float* y, bool bfloat16);
void gelu_backward(const float* x, const float* dy, Index count, float* y, float* dx,
                   bool bfloat16);

void softmax(float* x, Index rows, Index columns);
void softmax_backward(const float* y, float* dy, Index rows, Index columns);
void mix_heads(const MixArgs& args, const float* input, float* output);
void mix_heads_backward(const MixArgs& args, const float* input, const float* d_output,
                        float* d_weight, float* d_bias);

void residual(const float* x, const float* branch, const float* scale, float factor, Index rows,
              Index dim, float* y);
void residual_backward(const float* dy, const float* branch, const float* scale, float factor,
                       Index rows, Index dim, float* d_branch, float* d_scale);

void scale(const float* x, float factor, Index count, float* y, bool bfloat16);
void add(const float* x, Index count, float* y);
void put_away(const float* x, Index count, float* y);
void add_columns(const float* x, Index rows, Index columns, Index ld, float* sums);
void to_bfloat16(const float* x, Index count, std::uint16_t* y);
void from_bfloat16(const std::uint16_t* x, Index count, float* y);

}  // namespace cait::kernels::CAIT_KERNEL_ISA
