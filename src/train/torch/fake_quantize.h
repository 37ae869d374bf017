// Fake quantisation for training: values take the steps that int8 products of the engine would give
// them, and gradients pass as if they had not (straight through, Bengio et al. 2013).
#pragma once

#include "train/torch/libtorch.h"

#include <cstdint>
#include <set>
#include <string>

#include "graph/graph.h"

namespace cait {

// Each row of the last axis as whole numbers from -127 to 127 times a scale, the engine's rounding
// (kernels/isa/quantize.h). Rows are cut into slices of `slice` values with a scale each; 0: none.
at::Tensor fake_quantize(const at::Tensor& x, std::int64_t slice = 0);

// x · weight^T + bias with both operands rounded so, the weight by output.
at::Tensor fake_quantized_linear(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& bias, std::int64_t slice = 0);

// Linear maps and branches of `graph`, a fused or plain form of `recorded`, with weights that the
// engine has in int8.
std::set<std::string> quantized_nodes(const Graph& recorded, const Graph& graph);

}  // namespace cait
