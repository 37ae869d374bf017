#include "train/distributed/batch_norm_sync.h"

namespace cait {

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
