// The kNN loss of Grafit and SNCA (thesis, equations 2.2 and 2.3; Wu et al. 2018, arXiv
// 1808.04699): the remembered images of an image's class have most of the weight among all of its
// neighbours.
#pragma once

#include "train/torch/libtorch.h"

#include "train/distributed/process_group.h"

namespace cait {

// A batch of all processes, in its order.
struct KnnQueries {
    at::Tensor vectors;  // [Q, D], of unit length
    at::Tensor images;   // [Q] which of the training images each is
    at::Tensor labels;   // [Q]
};

// What one process remembers.
struct KnnShard {
    at::Tensor vectors;  // [R, D]
    at::Tensor images;   // [R]
    at::Tensor labels;   // [R]
};

// `own`: [Q / world, D], the vectors of this process with their gradients. The mean over them of
// -log Σ_{j≠i, y_j=y_i} p_ij, with p_ij ∝ exp(m_j · v_i / sigma) over j ≠ i. An image that is alone
// in its class adds nothing, as in the public code of SNCA. Called by all processes.
at::Tensor knn_loss(const at::Tensor& own, const KnnQueries& all, const KnnShard& shard,
                    double sigma, ProcessGroup& group);

}  // namespace cait
