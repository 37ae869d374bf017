// The baseline of thesis section 2.2: views of an image lie nearer to each other than to views of
// other images. The thesis gives neither the margin nor how triplets are chosen; ours are all of a
// batch that are not yet far enough apart.
#pragma once

#include "train/torch/libtorch.h"

namespace cait {

// vectors [views * B, D], view-major: the mean of max(0, margin + d(a, p) - d(a, n)) over the
// triplets where it is above 0, of anchors a, other views p of the same image and views n of other
// images, with d the squared distance of the unit vectors.
at::Tensor triplet_loss(const at::Tensor& vectors, std::int64_t views, double margin);

}  // namespace cait
