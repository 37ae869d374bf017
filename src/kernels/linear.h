// Linear maps and batched products of any size, cut over the rows among the threads.
#pragma once

#include "kernels/profile.h"
#include "kernels/table.h"

namespace cait::kernels {

// y [rows, outputs] = x [rows, inputs] · weight^T + bias
struct LinearShape {
    Index rows = 0;
    Index inputs = 0;
    Index outputs = 0;
    bool bfloat16 = false;  // operands rounded to bfloat16
    int threads = 1;
    Profile* profile = nullptr;
};

void linear_forward(const LinearShape& shape, const float* x, const float* weight,
                    const float* bias, float* y);

// Each gradient is written unless it is null: dx [rows, inputs], d_weight [outputs, inputs],
// d_bias.
void linear_backward(const LinearShape& shape, const float* x, const float* weight, const float* dy,
                     float* dx, float* d_weight, float* d_bias);

// c [m, n] = a · b for each of `count` pairs. Element (i, k) of pair p's `a` stands at
// a[p * a_batch + i * a_row + k * a_step], one of the steps being 1; b likewise by b_row, b_step.
struct ProductShape {
    Index count = 1, m = 0, n = 0, k = 0;
    Index a_batch = 0, a_row = 0, a_step = 1;
    Index b_batch = 0, b_row = 0, b_step = 1;
    bool bfloat16 = false;
    int threads = 1;
    Profile* profile = nullptr;
};
void batched_product(const ProductShape& shape, const float* a, const float* b, float* c);

}  // namespace cait::kernels
