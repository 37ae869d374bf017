// The inputs of a fused branch by name: whoever looks at MlpBranch or AttentionBranch, be it for
// shapes, for a decomposition or with tensors, reads the list in this one way.
#pragma once

#include <span>

#include "graph/ops.h"

namespace cait {

// T is a Value, a Shape or a tensor; what is left out is a T().
template <class T>
struct BranchInputs {
    T x, norm_weight, norm_bias;
    T weight1, bias1;  // fc1 or qkv
    T weight2, bias2;  // fc2 or proj
    std::span<const T> mixes;
    T gain;
};

// The list must have as many entries as the options say, which infer_shape() checks.
template <class T>
BranchInputs<T> branch_inputs(const op::BranchOptions& op, std::span<const T> in) {
    BranchInputs<T> result{in[0], {}, {}, {}, {}, {}, {}, {}, {}};
    std::size_t next = 1;
    if (op.norm) {
        result.norm_weight = in[next++];
        result.norm_bias = in[next++];
    }
    result.weight1 = in[next++];
    if (op.bias1) result.bias1 = in[next++];
    result.weight2 = in[next++];
    if (op.bias2) result.bias2 = in[next++];
    const std::size_t behind = op.gain ? in.size() - 1 : in.size();
    result.mixes = in.subspan(next, behind - next);
    if (op.gain) result.gain = in[behind];
    return result;
}

}  // namespace cait
