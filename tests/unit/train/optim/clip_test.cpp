#include "train/optim/clip.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include "cait/error.h"
#include "train/optim/chunks.h"

namespace cait {
namespace {

std::vector<TrainParam> with_gradients(const std::vector<at::Tensor>& grads) {
    std::vector<TrainParam> params;
    for (std::size_t i = 0; i < grads.size(); ++i) {
        params.push_back({.name = fmt::format("p{}", i), .value = at::zeros_like(grads[i])});
        params.back().value.mutable_grad() = grads[i].clone();
    }
    return params;
}

OptimPart clip(ClipKind kind, double limit) {
    OptimPart part;
    part.clip = kind;
    part.clip_at = limit;
    return part;
}

TEST(Clip, ScalesAllGradientsToTheLargestNorm) {
    auto params = with_gradients({at::tensor({3.0F}), at::tensor({0.0F, 4.0F})});
    EXPECT_DOUBLE_EQ(clip_gradients(params, clip(ClipKind::norm, 1)).norm, 5);
    EXPECT_NEAR(params[0].value.grad()[0].item<double>(), 0.6, 1e-6);
    EXPECT_NEAR(params[1].value.grad()[1].item<double>(), 0.8, 1e-6);
}

TEST(Clip, LeavesSmallGradientsAsTheyAre) {
    auto params = with_gradients({at::tensor({3.0F, 4.0F})});
    EXPECT_DOUBLE_EQ(clip_gradients(params, clip(ClipKind::norm, 6)).norm, 5);
    EXPECT_TRUE(at::equal(params[0].value.grad(), at::tensor({3.0F, 4.0F})));
    EXPECT_DOUBLE_EQ(clip_gradients(params, clip(ClipKind::none, 1)).norm, 5);
    EXPECT_TRUE(at::equal(params[0].value.grad(), at::tensor({3.0F, 4.0F})));
}

TEST(Clip, ByValueCutsEachElement) {
    auto params = with_gradients({at::tensor({3.0F, -4.0F, 0.5F})});
    clip_gradients(params, clip(ClipKind::value, 2));
    EXPECT_TRUE(at::equal(params[0].value.grad(), at::tensor({2.0F, -2.0F, 0.5F})));
}

TEST(Clip, ByParameterCutsEachByItsOwnNorm) {
    auto params = with_gradients({at::tensor({3.0F, 4.0F}), at::tensor({0.0F, 2.0F})});
    EXPECT_DOUBLE_EQ(clip_gradients(params, clip(ClipKind::param, 2.5)).norm, std::sqrt(29.0));
    EXPECT_NEAR(params[0].value.grad()[0].item<double>(), 1.5, 1e-6);
    EXPECT_NEAR(params[0].value.grad()[1].item<double>(), 2, 1e-6);
    EXPECT_TRUE(at::equal(params[1].value.grad(), at::tensor({0.0F, 2.0F})));
}

TEST(Clip, EqualsLibTorchOnLargeTensors) {
    torch::manual_seed(1);
    auto params = with_gradients({at::randn({3 * kChunkSize + 7}), at::randn({11, 13})});
    auto others = with_gradients({params[0].value.grad(), params[1].value.grad()});
    const double norm = clip_gradients(params, clip(ClipKind::norm, 2.5)).norm;
    const double expected =
        torch::nn::utils::clip_grad_norm_({others[0].value, others[1].value}, 2.5);
    EXPECT_NEAR(norm, expected, 1e-5 * expected);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_TRUE(at::allclose(params[i].value.grad(), others[i].value.grad(), 1e-5, 1e-9));
}

TEST(Clip, NamesTheFirstGradientThatIsNotFiniteAndChangesNone) {
    auto params =
        with_gradients({at::full({2}, 100.0), at::tensor({1.0F, INFINITY}), at::tensor({NAN})});
    const GradientCheck check = clip_gradients(params, clip(ClipKind::norm, 1));
    EXPECT_EQ(check.first_bad, "p1");
    EXPECT_FALSE(check.finite());
    EXPECT_TRUE(at::equal(params[0].value.grad(), at::full({2}, 100.0)));
}

TEST(Clip, LargeFiniteGradientsAreFinite) {
    auto params = with_gradients({at::full({1000}, 3e38)});
    const GradientCheck check = clip_gradients(params, clip(ClipKind::norm, 1));
    EXPECT_TRUE(check.finite());
    EXPECT_NEAR(check.norm, 3e38 * std::sqrt(1000.0), 1e33);
}

TEST(Clip, TakesGradientsOfOtherFormatsAndSkipsMissingOnes) {
    auto params =
        with_gradients({at::tensor({3.0}, at::kDouble), at::tensor({4.0F}), at::tensor({9.0F})});
    params[2].value.mutable_grad() = at::Tensor();
    EXPECT_DOUBLE_EQ(clip_gradients(params, clip(ClipKind::norm, 1)).norm, 5);
    EXPECT_NEAR(params[0].value.grad().item<double>(), 0.6, 1e-6);
}

TEST(Clip, LimitMustBeAboveZero) {
    EXPECT_THROW(clip_gradients({}, clip(ClipKind::norm, 0)), UsageError);
    EXPECT_THROW(clip_gradients({}, clip(ClipKind::value, NAN)), UsageError);
}

}  // namespace
}  // namespace cait
