// Convolutions as products: the patches of a block of output pixels are gathered into a left-hand
// side that stays in the second-level cache, whole or, where the weights are large, a slice at a
// time; the last product finishes that block of the result.
// Activations are float32; what comes out lies channels last.
#pragma once

#include <span>

#include "kernels/product.h"
#include "kernels/windows.h"
#include "kernels/workspace.h"

namespace cait::kernels {

// x: value (c, y, x) of image b stands at b * image_step + y * row_step + x * column_step +
// c * channel_step. channel_step == 1 is channels last, column_step == 1 planes as of an image.
struct Convolution {
    Index batch = 0, height = 0, width = 0, channels = 0;
    Index outputs = 0;
    Index kernel_height = 1, kernel_width = 1;
    Index stride = 1, padding = 0, groups = 1;
    Index image_step = 0, row_step = 0, column_step = 0, channel_step = 1;
    // Of the products' operands. int8 asks for one group, channels last and pixels without gaps.
    Format format = Format::f32;
    bool nonnegative = false;  // x has no value below 0: int8 then has twice the steps
    int threads = 1;
    std::span<const PackedView> weights = {};  // of each group
    const float* bias = nullptr;               // [outputs]
    Epilogue::Activation activation = Epilogue::Activation::none;
    const float* residual = nullptr;  // dense like y; added behind the activation
    bool relu_last = false;           // of the sum with the residual

    Index out_height() const { return windows_along(height, kernel_height, stride, padding); }
    Index out_width() const { return windows_along(width, kernel_width, stride, padding); }
};

// The inner extent of each group's product.
Index convolution_k(const Convolution& c);

// weight [outputs, channels / groups, kernel_height, kernel_width] in the order of the gathered
// patches, [outputs, k]. Group g's rows [g * outputs / groups, …) are then packed as its
// forward_source(rows, outputs / groups, k).
void order_weights(const Convolution& c, const float* weight, float* ordered);

// y [batch, out_height, out_width, outputs], which may be the residual.
void convolution_forward(const Convolution& c, const float* x, float* y, Workspace& workspace);

}  // namespace cait::kernels
