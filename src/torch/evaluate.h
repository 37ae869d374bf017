// One op on LibTorch tensors. Everything here is differentiable.
#pragma once

#include <torch/torch.h>

#include <span>

#include "cait/train.h"
#include "graph/graph.h"

namespace cait {

struct EvaluateContext {
    Mode mode = Mode::infer;  // of the graph; batch norms ask for it
    Precision precision = Precision::fp32;
    std::uint64_t seed = 0;  // stochastic depth is a pure function of seed, step, node and image
    std::uint64_t step = 0;
};

// Input and Param are leaves: whoever walks the graph supplies them.
at::Tensor evaluate(const Node& node, std::span<const at::Tensor> inputs,
                    const EvaluateContext& context);

}  // namespace cait
