// Dense maps of another size, channels last.
#pragma once

#include "kernels/workspace.h"

namespace cait::kernels {

struct Resizing {
    Index batch = 0, height = 0, width = 0, channels = 0;
    Index out_height = 0, out_width = 0;
    bool bilinear = true;  // else the nearest pixel
    int threads = 1;
};

// x [batch, height, width, channels] → y [batch, out_height, out_width, channels], as op::Resize.
void resize_forward(const Resizing& r, const float* x, float* y);

}  // namespace cait::kernels
