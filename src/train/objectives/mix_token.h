// Which tokens images exchange in MixToken: "All Tokens Matter: Token Labeling for Training Better
// Vision Transformers", Jiang et al. 2021 (arXiv 2104.10858), as VOLO's code draws them.
#pragma once

#include "base/philox.h"
#include "graph/graph.h"

namespace cait {

// About 1 - share of the grid, cut off at its border, around a place of it. It may be empty: as
// many places lie before its middle as after it.
GridBox token_box(double share, Grid grid, std::int64_t row, std::int64_t column);

// With a share from Beta(alpha, alpha) and any place as likely as the others.
GridBox draw_token_box(double alpha, Grid grid, RandomStream& random);

// What the image at the other end gives to the label of an image.
double exchanged_share(const GridBox& box, Grid grid);

}  // namespace cait
