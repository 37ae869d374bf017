// Averages gradients over the processes while the backward pass is still computing the others:
// they travel in buckets, and a bucket leaves as soon as its last gradient is there.
#pragma once

#include "train/torch/libtorch.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "train/distributed/process_group.h"

namespace cait {

struct GradientSyncOptions {
    std::size_t bucket_bytes = std::size_t(4) << 20;  // a larger parameter has a bucket to itself
};

class GradientSync {
public:
    // `params`: leaves that require a gradient, in the order in which the forward pass uses them;
    // the same list on every rank. The group outlives this object.
    GradientSync(std::vector<at::Tensor> params, ProcessGroup& group,
                 const GradientSyncOptions& options = {});
    ~GradientSync();
    GradientSync(const GradientSync&) = delete;
    GradientSync& operator=(const GradientSync&) = delete;

    // Switched off for all parts of an accumulated batch but the last one: gradients then only add
    // up where they are. Not between a backward pass and its finish().
    void set_enabled(bool enabled) { enabled_ = enabled; }

    // After backward(): waits, and leaves the mean over all ranks in every gradient. Who has none
    // here counts as zero; a parameter without a gradient on any rank stays without one.
    void finish();

    std::size_t bucket_count() const { return buckets_.size(); }
    // Buckets of this step whose sum is under way; grows during the backward pass.
    std::size_t started() const;

private:
    struct Slot {
        at::Tensor param;
        std::size_t bucket = 0;
        std::int64_t offset = 0;  // in the bucket, elements
        std::int64_t number = 0;  // among the bucket's slots
        bool arrived = false;
        // Autograd itself only keeps it weakly. The kind of pointer depends on LibTorch's version.
        decltype(torch::autograd::impl::grad_accumulator(at::Tensor())) accumulator;
        std::uintptr_t hook = 0;
    };
    struct Bucket {
        std::vector<std::size_t> slots;
        std::int64_t elements = 0;
        std::size_t missing = 0;
        at::Tensor flat;  // (elements + slots): all gradients, then 1 for each that exists
        ProcessGroup::Pending pending;
    };

    void plan_buckets(const GradientSyncOptions& options);
    void add_hook(std::size_t index);
    void on_gradient(std::size_t index);
    void collect(Slot& slot);
    void start_full_buckets();
    void spread(Bucket& bucket);

    ProcessGroup& group_;
    std::vector<Slot> slots_;
    std::vector<Bucket> buckets_;
    bool enabled_ = true;
    mutable std::mutex mutex_;  // with several devices, autograd calls from several threads
    std::size_t started_ = 0;
};

// Running statistics of batch norms: every rank has seen other images, and before weights are saved
// or evaluated all have to agree. In place: the mean over the ranks. Counters (whole numbers) are
// equal everywhere and are left.
void average_buffers(ProcessGroup& group, const std::vector<at::Tensor>& tensors);

}  // namespace cait
