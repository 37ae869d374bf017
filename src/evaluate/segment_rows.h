// From the logits of one or several looks at an image to the likeliest class of each pixel, some
// rows of it at a time.
#pragma once

#include <deque>

#include "evaluate/segment_pass.h"

namespace cait {

struct SegmentedImage;

// All looks have the same classes. The mean of their softmaxes decides.
SegmentedImage segment_rows(std::deque<SegmentPass>& passes, Extent size, bool probabilities,
                            kernels::ThreadPool& pool);

}  // namespace cait
