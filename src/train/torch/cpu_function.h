// What the differentiable CPU functions of this folder share. Each is a pair of kernels inside a
// torch::autograd::Function; second derivatives are not defined.
#pragma once

#include "train/torch/libtorch.h"

#include <ATen/Parallel.h>

#include <initializer_list>
#include <memory>
#include <optional>

#include "kernels/profile.h"
#include "train/torch/cpu_memory.h"

namespace cait {

struct CpuOptions {
    kernels::Format format = kernels::Format::f32;  // of the products' operands
    kernels::Profile* profile = nullptr;
    std::shared_ptr<CpuMemory> memory = std::make_shared<CpuMemory>();
    std::optional<std::uint64_t> weights_version = {};
    int threads = at::get_num_threads();  // the same forward and backward

    kernels::Workspace& workspace() const { return memory->workspace(); }
    kernels::PackedView forward_weight(const at::Tensor& weight) const {
        return memory->packed(weight, CpuMemory::Direction::forward, format, weights_version,
                              threads);
    }
    kernels::PackedView backward_weight(const at::Tensor& weight,
                                        const at::Tensor& gain = {}) const {
        return memory->packed(weight, CpuMemory::Direction::backward, format, weights_version,
                              threads, gain);
    }
};

// Plain settings that forward hands to backward, kept in the function's context.
template <class T>
struct Held : torch::CustomClassHolder {
    explicit Held(const T& held) : value(held) {}
    T value;
};
template <class T>
void hold(torch::autograd::AutogradContext* context, const T& value) {
    context->saved_data["held"] = at::IValue::make_capsule(c10::make_intrusive<Held<T>>(value));
}
template <class T>
T held(torch::autograd::AutogradContext* context) {
    return c10::static_intrusive_pointer_cast<Held<T>>(context->saved_data.at("held").toCapsule())
        ->value;
}

// Float32 and contiguous, as the kernels read it; undefined stays undefined.
inline at::Tensor as_floats(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(at::kFloat).contiguous() : tensor;
}

inline const float* floats_of(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}
inline float* mutable_floats_of(at::Tensor& tensor) {
    return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}

inline at::Tensor empty_like_defined(const at::Tensor& tensor) {
    return tensor.defined() ? at::empty(tensor.sizes(), at::kFloat) : tensor;
}

// torch::autograd::Function takes no undefined tensors, but empty options.
inline c10::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
    return tensor.defined() ? c10::optional<at::Tensor>(tensor) : c10::nullopt;
}
inline at::Tensor or_undefined(const c10::optional<at::Tensor>& tensor) {
    return tensor ? *tensor : at::Tensor();
}

inline bool needs_gradient(std::initializer_list<at::Tensor> tensors) {
    if (!at::GradMode::is_enabled()) return false;
    for (const at::Tensor& tensor : tensors)
        if (tensor.defined() && tensor.requires_grad()) return true;
    return false;
}

}  // namespace cait
