// Products on our kernels beside ATen's, forward and backward.
#include "train/torch/linear_function.h"

#include <gtest/gtest.h>

#include "unit/train/torch/gradients.h"

namespace cait {
namespace {

using test::expect_same_gradients;

TEST(LinearFunction, HasTheValuesAndGradientsOfAten) {
    torch::manual_seed(1);
    for (const auto& [rows, inputs, outputs] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {5, 7, 3}, {33, 48, 20}, {64, 192, 17}}) {
        const at::Tensor x = at::randn({2, rows, inputs}), weight = at::randn({outputs, inputs}),
                         bias = at::randn({outputs});
        expect_same_gradients(
            {x, weight, bias}, [](const auto& in) { return cpu_linear(in[0], in[1], in[2], {}); },
            [](const auto& in) { return at::linear(in[0], in[1], in[2]); });
        expect_same_gradients(
            {x, weight}, [](const auto& in) { return cpu_linear(in[0], in[1], {}, {}); },
            [](const auto& in) { return at::linear(in[0], in[1]); });
    }
}

TEST(LinearFunction, TakesWhatIsNotContiguous) {
    torch::manual_seed(2);
    expect_same_gradients(
        {at::randn({6, 9}), at::randn({6, 4})},
        [](const auto& in) { return cpu_linear(in[0].t(), in[1].t(), {}, {}); },
        [](const auto& in) { return at::linear(in[0].t(), in[1].t()); });
}

TEST(LinearFunction, GivesNoGradientToWhatAsksForNone) {
    const at::Tensor x = at::randn({3, 4}), weight = at::randn({2, 4}).requires_grad_();
    cpu_linear(x, weight, {}, {}).sum().backward();
    EXPECT_TRUE(weight.grad().defined());
    EXPECT_FALSE(x.grad().defined());
    EXPECT_FALSE(cpu_linear(x, weight.detach(), {}, {}).requires_grad());
}

TEST(MatMulFunction, HasTheValuesAndGradientsOfAten) {
    torch::manual_seed(3);
    const at::Tensor a = at::randn({2, 3, 5, 7}), b = at::randn({2, 3, 7, 4});
    expect_same_gradients(
        {a, b}, [](const auto& in) { return cpu_matmul(in[0], in[1], false, {}); },
        [](const auto& in) { return at::matmul(in[0], in[1]); });
    expect_same_gradients(
        {a, b.transpose(-1, -2).contiguous()},
        [](const auto& in) { return cpu_matmul(in[0], in[1], true, {}); },
        [](const auto& in) { return at::matmul(in[0], in[1].transpose(-1, -2)); });
}

TEST(MatMulFunction, BroadcastsLeadingAxes) {
    torch::manual_seed(4);
    expect_same_gradients(
        {at::randn({2, 3, 5, 7}), at::randn({3, 7, 4})},
        [](const auto& in) { return cpu_matmul(in[0], in[1], false, {}); },
        [](const auto& in) { return at::matmul(in[0], in[1]); });
}

}  // namespace
}  // namespace cait
