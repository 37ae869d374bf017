// Depth-wise convolution: every channel has a kernel of its own. Maps are dense and channels last.
#pragma once

#include "kernels/product.h"
#include "kernels/workspace.h"

namespace cait::kernels {

struct Depthwise {
    Index batch = 0, height = 0, width = 0, channels = 0;
    Index kernel_height = 3, kernel_width = 3, stride = 1, padding = 0;
    int threads = 1;
    const float* weight = nullptr;  // [kernel_height * kernel_width, channels]
    const float* bias = nullptr;    // [channels]
    Epilogue::Activation activation = Epilogue::Activation::none;
};

// weight [channels, 1, kernel_height, kernel_width] → ordered [kernel_height * kernel_width,
// channels]
void order_depthwise_weights(const Depthwise& d, const float* weight, float* ordered);

// x [batch, height, width, channels] → y [batch, out height, out width, channels]
void depthwise_forward(const Depthwise& d, const float* x, float* y, Workspace& workspace);

}  // namespace cait::kernels
