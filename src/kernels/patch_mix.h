// ResMLP's exchange among patches: a linear map along the tokens, the same for all channels. The
// weight is the left-hand side; every image is packed as the right-hand side when its turn comes.
#pragma once

#include "kernels/product.h"
#include "kernels/workspace.h"

namespace cait::kernels {

struct PatchMix {
    Index batch = 0;
    Index inputs = 0, outputs = 0;  // tokens
    Index dim = 0;
    Lhs weight = {};                  // [outputs, inputs], staged for the products of `format`
    const float* bias = nullptr;      // [outputs]
    const float* residual = nullptr;  // [batch, outputs, dim]
    const float* gain = nullptr;      // [dim], only with a residual
    Format format = Format::f32;      // of the products' operands
    int threads = 1;
};

// y [batch, outputs, dim] = residual + gain * (weight · x + bias), x [batch, inputs, dim]. y may be
// the residual and, where there are as many outputs as inputs, x.
void patch_mix_forward(const PatchMix& p, const float* x, float* y, Workspace& workspace);

}  // namespace cait::kernels
