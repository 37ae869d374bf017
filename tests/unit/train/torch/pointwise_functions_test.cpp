// Norm, GELU and the scaled residual on our kernels beside ATen's, forward and backward.
#include "train/torch/pointwise_functions.h"

#include <gtest/gtest.h>

#include "unit/train/torch/gradients.h"

namespace cait {
namespace {

using test::expect_same_gradients;

TEST(LayerNormFunction, HasTheValuesAndGradientsOfAten) {
    torch::manual_seed(1);
    for (const std::int64_t dim : {1, 7, 48, 200})
        expect_same_gradients(
            {at::randn({3, 5, dim}) * 2 + 1, at::randn({dim}), at::randn({dim})},
            [](const auto& in) { return cpu_layer_norm(in[0], in[1], in[2], 1e-6, {}); },
            [&](const auto& in) { return at::layer_norm(in[0], {dim}, in[1], in[2], 1e-6); });
}

TEST(GeluFunction, HasTheValuesAndGradientsOfAten) {
    const at::Tensor x = at::cat({at::linspace(-12, 12, 501), at::zeros({1})});
    expect_same_gradients(
        {x}, [](const auto& in) { return cpu_gelu(in[0], {}); },
        [](const auto& in) { return at::gelu(in[0]); });
}

TEST(ResidualFunction, HasTheValuesAndGradientsOfAten) {
    torch::manual_seed(2);
    const at::Tensor x = at::randn({4, 5, 24}), branch = at::randn({4, 5, 24});
    const at::Tensor factors = at::tensor({0.0F, 1.25F, 1.25F, 0.0F});
    const at::Tensor by_image = factors.reshape({4, 1, 1});
    expect_same_gradients(
        {x, branch}, [](const auto& in) { return cpu_residual(in[0], in[1], {}, {}, {}); },
        [](const auto& in) { return in[0] + in[1]; });
    for (const std::int64_t extent : {24, 1})
        expect_same_gradients(
            {x, branch, at::randn({extent})},
            [&](const auto& in) { return cpu_residual(in[0], in[1], in[2], factors, {}); },
            [&](const auto& in) { return in[0] + by_image * in[2] * in[1]; });
}

TEST(ResidualFunction, ADroppedImageIsLeftAsItIs) {
    const at::Tensor x = at::randn({2, 3, 4}), branch = at::randn({2, 3, 4});
    const at::Tensor y = cpu_residual(x, branch, {}, at::tensor({0.0F, 2.0F}), {});
    EXPECT_TRUE(at::equal(y[0], x[0]));
    EXPECT_FALSE(at::equal(y[1], x[1]));
}

}  // namespace
}  // namespace cait
