// The loss of the classes of all pixels: cross-entropy of logits that are enlarged to the label
// images, as in mmsegmentation.
#pragma once

#include "train/torch/libtorch.h"

namespace cait {

// The sum over labelled pixels, each times the weight of its class (undefined: 1), divided by the
// number of all pixels. `logits` [B, K, h, w] of any size, `labels` [B, H, W] uint8. Throws Error
// where they do not fit.
at::Tensor pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                               const at::Tensor& class_weights);

// What the labelled pixels weigh, divided by the number of all pixels: 1 where all are labelled and
// nothing is weighted.
double labelled_share(const at::Tensor& labels, const at::Tensor& class_weights);

}  // namespace cait
