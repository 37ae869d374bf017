// Our tensors as LibTorch tensors and back.
#pragma once

#include "train/torch/libtorch.h"

#include "cait/tensor.h"
#include "graph/match_inputs.h"
#include "kernels/format.h"

namespace cait {

at::ScalarType torch_type(kernels::Format format);

// As an input of a graph: any floating-point type passes for float32.
std::optional<TensorType> type_of_torch(const at::Tensor& tensor);

// Shares the memory and keeps its owner alive. The result must not be written to when the tensor
// is a mapped view; training clones first.
at::Tensor to_torch(const Tensor& tensor);

// A contiguous copy on the CPU; bfloat16 and half become float32.
Tensor from_torch(const at::Tensor& tensor);

// The same memory as one of our tensors, for writing it to a file: contiguous, on the CPU, float32
// or int64. It changes when the original does.
Tensor share_torch(const at::Tensor& tensor);

}  // namespace cait
