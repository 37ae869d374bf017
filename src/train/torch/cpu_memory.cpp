#include "train/torch/cpu_memory.h"

namespace cait {

void CpuMemory::set_parameters(const std::map<std::string, at::Tensor>& parameters) {
    parameters_.clear();
    // A leaf stays where it is; what was computed of one (resized positions) may be gone before the
    // backward pass, and its place taken by another weight.
    for (const auto& [name, tensor] : parameters)
        if (tensor.is_leaf() && tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat &&
            tensor.is_contiguous())
            parameters_.insert(tensor.data_ptr());
}

kernels::PackedView CpuMemory::packed(const at::Tensor& weight, Direction direction,
                                      kernels::Format format, std::optional<std::uint64_t> version,
                                      int threads, const at::Tensor& gain) {
    const auto* values = weight.data_ptr<float>();
    const std::int64_t outputs = weight.size(0), inputs = weight.numel() / outputs;
    const kernels::PackSource source =
        direction == Direction::forward
            ? kernels::forward_source(values, outputs, inputs)
            : kernels::backward_source(values, outputs, inputs,
                                       gain.defined() ? gain.data_ptr<float>() : nullptr);
    if (!version || !parameters_.contains(values)) {
        kernels::PackedMatrix& matrix = passing_[next_++ % passing_.size()];
        matrix.pack(source, format, threads);
        return matrix.view();
    }
    Entry& entry = kept_[{values, direction, format}];
    if (entry.version != version) entry.matrix.pack(source, format, threads);
    entry.version = version;
    return entry.matrix.view();
}

}  // namespace cait
