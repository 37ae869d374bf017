// Holds a differentiable function of ours against ATen's: values, and the gradients of all inputs.
#pragma once

#include <gtest/gtest.h>
#include "train/torch/libtorch.h"

#include <functional>
#include <vector>

namespace cait::test {

using TorchFunction = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

// The value, then the gradient of each input, under the same random weights of the outputs.
inline std::vector<at::Tensor> value_and_gradients(const std::vector<at::Tensor>& inputs,
                                                   const TorchFunction& function) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs)
        leaves.push_back(input.detach().clone().requires_grad_());
    const at::Tensor value = function(leaves);
    const at::Tensor weights =
        at::cos(at::arange(value.numel(), at::kFloat)).reshape(value.sizes());
    (value * weights).sum().backward();
    std::vector<at::Tensor> result{value.detach()};
    for (const at::Tensor& leaf : leaves) result.push_back(leaf.grad());
    return result;
}

inline void expect_same_gradients(const std::vector<at::Tensor>& inputs, const TorchFunction& ours,
                                  const TorchFunction& aten) {
    const std::vector<at::Tensor> found = value_and_gradients(inputs, ours);
    const std::vector<at::Tensor> expected = value_and_gradients(inputs, aten);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(found[i].defined()) << "gradient of input " << i;
        ASSERT_EQ(found[i].sizes(), expected[i].sizes());
        EXPECT_TRUE(at::allclose(found[i], expected[i], 1e-4, 1e-4))
            << (i == 0 ? "value" : "gradient of input ") << i << ": differ by "
            << (found[i] - expected[i]).abs().max().item<float>();
    }
}

}  // namespace cait::test
