// Grafit's instance loss (thesis, equation 2.1; Touvron et al. 2020, arXiv 2011.12982): what the
// network predicts of one view of an image points where the target network sends the others.
#pragma once

#include "train/torch/libtorch.h"

namespace cait {

// predictions and targets [views * B, D], view-major. The mean over images of
// -Σ_{i≠j} cos(prediction of view i, target of view j) / (T (T - 1)). No gradient goes to the
// targets.
at::Tensor instance_loss(const at::Tensor& predictions, const at::Tensor& targets,
                         std::int64_t views);

}  // namespace cait
