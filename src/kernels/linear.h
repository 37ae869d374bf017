// Linear maps and batched products of any size, cut over rows and columns among the threads.
#pragma once

#include "kernels/product.h"
#include "kernels/profile.h"
#include "kernels/workspace.h"

namespace cait::kernels {

// y [rows, outputs] = activation(x [rows, inputs] · weight^T + bias)
struct LinearShape {
    Index rows = 0;
    Index inputs = 0;
    Index outputs = 0;
    Index ld = 0;                 // of x: floats from row to row; 0 for `inputs`
    Format format = Format::f32;  // of the products' operands
    int threads = 1;
    Profile* profile = nullptr;
    Epilogue::Activation activation = Epilogue::Activation::none;
};

// `weight` is packed: forward_source of [outputs, inputs]. The same function computes dx from dy,
// with inputs and outputs exchanged and backward_source.
void linear_forward(const LinearShape& shape, const float* x, const PackedView& weight,
                    const float* bias, float* y, Workspace& workspace);

// c [m, n] = a · b for each of `count` pairs. Element (i, k) of pair p's `a` stands at
// a[p * a_batch + i * a_row + k * a_step], one of the steps being 1; b likewise by b_row, b_step.
struct BatchedShape {
    Index count = 1, m = 0, n = 0, k = 0;
    Index a_batch = 0, a_row = 0, a_step = 1;
    Index b_batch = 0, b_row = 0, b_step = 1;
    Format format = Format::f32;
    int threads = 1;
    Profile* profile = nullptr;
};
void batched_product(const BatchedShape& shape, const float* a, const float* b, float* c,
                     Workspace& workspace);

}  // namespace cait::kernels
