// The kNN loss of Grafit and SNCA (thesis, equations 2.2 and 2.3; Wu et al. 2018, arXiv
// 1808.04699): the remembered images of an image's class have most of the weight among all of its
// neighbours. The memory has one vector per training image (thesis, section 2.3.1). Each process
// keeps every world-th image; what it says about a batch does not depend on how many processes
// there are.
#pragma once

#include "train/torch/libtorch.h"

#include <span>
#include <vector>

#include "data/sampler.h"
#include "train/distributed/process_group.h"
#include "train/recipe/recipe.h"

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

class FeatureMemory {
public:
    // `labels`: of all training images. Starts from noise that depends on the seed and the image
    // alone. The group outlives this object.
    FeatureMemory(const MemoryPart& part, std::vector<std::int64_t> labels, std::int64_t columns,
                  std::uint64_t seed, ProcessGroup& group, at::Device device = at::kCPU);

    // The loss of this process's images, whose unit vectors are [n, D]. Called by all processes.
    // What the memory learns from them waits for update().
    at::Tensor loss(const at::Tensor& vectors, std::span<const SampleKey> keys,
                    const at::Tensor& labels);

    // Every image of the batch: m ← momentum m + (1 - momentum) v, and to unit length again.
    void update();
    // The step was not taken.
    void forget() { seen_.clear(); }

    std::int64_t size() const { return std::int64_t(labels_.size()); }

    // All vectors, [images, D], as one process has them. Called by all processes.
    at::Tensor gathered() const;
    void load(const at::Tensor& all);

private:
    MemoryPart part_;
    std::vector<std::int64_t> labels_;
    ProcessGroup& group_;
    at::Tensor rows_;        // [own, D]: images rank, rank + world, …
    at::Tensor row_images_;  // [own] which images these are
    at::Tensor row_labels_;  // [own]
    std::vector<KnnQueries> seen_;
};

}  // namespace cait
