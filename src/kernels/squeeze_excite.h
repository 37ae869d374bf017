// Squeeze and excitation: the channels of a map are weighed by what a small network makes of their
// means.
#pragma once

#include "kernels/product.h"
#include "kernels/workspace.h"

namespace cait::kernels {

struct SqueezeExcite {
    Index batch = 0, pixels = 0, channels = 0;
    Index reduced = 0;
    PackedView reduce = {};  // forward_source of [reduced, channels]
    const float* reduce_bias = nullptr;
    PackedView expand = {};  // forward_source of [channels, reduced]
    const float* expand_bias = nullptr;
    Format format = Format::f32;  // of the products' operands
    int threads = 1;
};

// y = x * sigmoid(expand(relu(reduce(mean of x)))), x and y [batch, pixels, channels]; y may be x.
void squeeze_excite_forward(const SqueezeExcite& s, const float* x, float* y, Workspace& workspace);

}  // namespace cait::kernels
