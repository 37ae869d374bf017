// What one image costs: parameters, multiply-adds and activation memory, read off the graph.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace cait {

struct Cost {
    std::int64_t params = 0;           // values of all parameters, without batch-norm statistics
    std::int64_t trainable = 0;        // those that training changes
    std::int64_t macs = 0;             // one multiply-add = 1; products and convolutions
    std::int64_t inference_bytes = 0;  // most float32 activations alive at once, between fused ops
    std::int64_t training_bytes = 0;   // float32 activations kept until the backward pass
};

Cost estimate_cost(const Graph& graph);

}  // namespace cait
