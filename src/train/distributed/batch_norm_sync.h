// Running statistics of batch norms: every rank has seen other images, and before weights are saved
// or evaluated all have to agree.
#pragma once

#include "train/torch/libtorch.h"

#include <vector>

#include "train/distributed/process_group.h"

namespace cait {

// In place: the mean over the ranks. Counters (whole numbers) are equal everywhere and are left.
void average_buffers(ProcessGroup& group, const std::vector<at::Tensor>& tensors);

}  // namespace cait
