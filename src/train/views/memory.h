// One vector per training image, which the kNN loss compares a batch with (thesis, section 2.3.1).
// Each process keeps every world-th image; what it says about a batch does not depend on how many
// processes there are.
#pragma once

#include "train/torch/libtorch.h"

#include <span>
#include <vector>

#include "data/sampler.h"
#include "train/distributed/process_group.h"
#include "train/recipe/recipe.h"
#include "train/views/knn_loss.h"

namespace cait {

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
