// VOLO's outlook attention without its unfolded values: each window mixes what it sees and adds
// that into place.
#pragma once

#include "kernels/workspace.h"

namespace cait::kernels {

struct OutlookShape {
    Index batch = 0, height = 0, width = 0, dim = 0;
    Index heads = 1;
    Index kernel = 3, stride = 1;  // padding is kernel / 2
    float scale = 1;
    int threads = 1;
};

// values [batch * height * width] rows of dim elements, value_ld apart; scores [batch, windows,
// heads * kernel^4] → out [batch, height, width, dim]
void outlook_forward(const OutlookShape& s, const float* values, Index value_ld,
                     const float* scores, float* out, Workspace& workspace);

}  // namespace cait::kernels
