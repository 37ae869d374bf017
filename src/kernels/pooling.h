// Pooling of dense maps that lie channels last.
#pragma once

#include "kernels/workspace.h"

namespace cait::kernels {

// What lies beyond the image never is the maximum and does not count in the average.
struct Pooling {
    Index batch = 0, height = 0, width = 0, channels = 0;
    bool maximum = true;  // else the average
    Index kernel = 2, stride = 2, padding = 0;
    bool ceil = false;  // a last, partly covered window counts too
    int threads = 1;

    Index out_height() const { return windows(height); }
    Index out_width() const { return windows(width); }

private:
    Index windows(Index size) const;
};

// x [batch, height, width, channels] → y [batch, out_height, out_width, channels]
void pool_forward(const Pooling& p, const float* x, float* y);

// The means of size × size parts, each from the pixel that it begins in to the one that it ends in.
struct PartMeans {
    Index batch = 0, height = 0, width = 0, channels = 0;
    Index size = 1;
    int threads = 1;
};

// x [batch, height, width, channels] → y [batch, size, size, channels], as op::AdaptivePool2d.
void part_means(const PartMeans& p, const float* x, float* y);

// x [batch, pixels, channels] → means [batch, channels]
void channel_means(Index batch, Index pixels, Index channels, int threads, const float* x,
                   float* means, Workspace& workspace);

}  // namespace cait::kernels
