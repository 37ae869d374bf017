#include "train/distributed/gradient_sync.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "cait/error.h"

namespace cait {

namespace {

// Shorter types are added up in float32; Gloo does not know all of them.
at::ScalarType sum_type(const at::Tensor& param) {
    return param.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace

GradientSync::GradientSync(std::vector<at::Tensor> params, ProcessGroup& group,
                           const GradientSyncOptions& options)
    : group_(group) {
    if (group.world() == 1) return;
    for (std::size_t i = 0; i < params.size(); ++i) {
        if (!params[i].is_leaf() || !params[i].requires_grad())
            throw Error(fmt::format(
                "[gradient_sync] parameter {}: expected a leaf that requires a gradient", i));
        slots_.emplace_back().param = params[i];
    }
    plan_buckets(options);
    for (std::size_t i = 0; i < slots_.size(); ++i) add_hook(i);
}

GradientSync::~GradientSync() {
    for (const Slot& slot : slots_)
        if (slot.accumulator) slot.accumulator->del_post_hook(slot.hook);
}

// From the last parameter to the first: that is about the order in which gradients come.
void GradientSync::plan_buckets(const GradientSyncOptions& options) {
    for (std::size_t i = slots_.size(); i-- > 0;) {
        Slot& slot = slots_[i];
        const auto fits = [&](const Bucket& bucket) {
            const at::Tensor& first = slots_[bucket.slots[0]].param;
            const std::size_t bytes = std::size_t(bucket.elements + slot.param.numel()) *
                                      c10::elementSize(sum_type(slot.param));
            return bytes <= options.bucket_bytes && first.device() == slot.param.device() &&
                   sum_type(first) == sum_type(slot.param);
        };
        if (buckets_.empty() || !fits(buckets_.back())) buckets_.emplace_back();
        Bucket& bucket = buckets_.back();
        slot.bucket = buckets_.size() - 1;
        slot.offset = bucket.elements;
        slot.number = std::int64_t(bucket.slots.size());
        bucket.slots.push_back(i);
        bucket.elements += slot.param.numel();
        ++bucket.missing;
    }
    for (Bucket& bucket : buckets_) {
        const at::Tensor& first = slots_[bucket.slots[0]].param;
        bucket.flat = at::zeros({bucket.elements + std::int64_t(bucket.slots.size())},
                                at::device(first.device()).dtype(sum_type(first)));
    }
}

void GradientSync::add_hook(std::size_t index) {
    Slot& slot = slots_[index];
    slot.accumulator = torch::autograd::impl::grad_accumulator(slot.param);
    using Variables = torch::autograd::variable_list;
    slot.hook =
        slot.accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [this, index](const Variables& outputs, const Variables&) {
                on_gradient(index);
                return outputs;
            }));
}

void GradientSync::on_gradient(std::size_t index) {
    if (!enabled_) return;
    const std::lock_guard lock(mutex_);
    if (slots_[index].arrived)
        throw Error(
            "[gradient_sync] expected finish() after each backward pass, found a second "
            "backward pass");
    collect(slots_[index]);
    start_full_buckets();
}

void GradientSync::collect(Slot& slot) {
    const at::NoGradGuard no_gradients;
    Bucket& bucket = buckets_[slot.bucket];
    const at::Tensor& gradient = slot.param.grad();
    at::Tensor place = bucket.flat.narrow(0, slot.offset, slot.param.numel());
    if (gradient.defined())
        place.copy_(gradient.reshape(-1));
    else
        place.zero_();
    bucket.flat.narrow(0, bucket.elements + slot.number, 1).fill_(gradient.defined() ? 1 : 0);
    slot.arrived = true;
    --bucket.missing;
}

// Always in the same order, whatever is ready first here: the ranks' sums have to match.
void GradientSync::start_full_buckets() {
    while (started_ < buckets_.size() && buckets_[started_].missing == 0) {
        buckets_[started_].pending = group_.start_sum(buckets_[started_].flat);
        ++started_;
    }
}

void GradientSync::finish() {
    if (!enabled_ || buckets_.empty()) return;
    const std::lock_guard lock(mutex_);
    for (const Bucket& bucket : buckets_)
        for (const std::size_t index : bucket.slots)
            if (!slots_[index].arrived) collect(slots_[index]);
    start_full_buckets();
    for (Bucket& bucket : buckets_) {
        bucket.pending.wait();
        spread(bucket);
    }
    started_ = 0;
}

void GradientSync::spread(Bucket& bucket) {
    const at::NoGradGuard no_gradients;
    bucket.flat.narrow(0, 0, bucket.elements).div_(group_.world());
    const at::Tensor owners =
        bucket.flat.narrow(0, bucket.elements, std::int64_t(bucket.slots.size()))
            .to(at::kCPU, at::kFloat);
    for (const std::size_t index : bucket.slots) {
        Slot& slot = slots_[index];
        slot.arrived = false;
        if (owners.data_ptr<float>()[slot.number] == 0) continue;
        const at::Tensor mean =
            bucket.flat.narrow(0, slot.offset, slot.param.numel()).view(slot.param.sizes());
        if (!slot.param.grad().defined()) slot.param.mutable_grad() = at::empty_like(slot.param);
        slot.param.mutable_grad().copy_(mean);
    }
    bucket.missing = bucket.slots.size();
}

std::size_t GradientSync::started() const {
    const std::lock_guard lock(mutex_);
    return started_;
}

void average_buffers(ProcessGroup& group, const std::vector<at::Tensor>& tensors) {
    if (group.world() == 1) return;
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> parts;
    for (const at::Tensor& tensor : tensors)
        if (tensor.is_floating_point()) parts.push_back(tensor.reshape(-1).to(at::kFloat));
    if (parts.empty()) return;
    // One message for all of them: there may be hundreds, and each is small.
    at::Tensor flat = at::cat(parts);
    group.all_reduce_mean(flat);
    std::int64_t offset = 0;
    for (const at::Tensor& tensor : tensors) {
        if (!tensor.is_floating_point()) continue;
        tensor.copy_(flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
        offset += tensor.numel();
    }
}

}  // namespace cait
