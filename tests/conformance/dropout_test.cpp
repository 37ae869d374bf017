// Dropout on LibTorch: what its mask depends on, and what it does to values and gradients.
#include <gtest/gtest.h>

#include <map>

#include "core/philox.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "torch/convert.h"
#include "torch/dropout_mask.h"
#include "torch/executor.h"

namespace cait {
namespace {

constexpr double kRate = 0.3;
const EvaluateContext kContext{.mode = Mode::train, .seed = 11, .step = 5};

at::Tensor mask_of(const std::vector<std::int64_t>& sizes, const EvaluateContext& context) {
    return dropout_mask("blocks.0.mlp.dropout", kRate, torch::empty(sizes), context);
}

// Runs something with another number of threads.
template <class Action>
auto with_threads(int threads, const Action& action) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    auto result = action();
    at::set_num_threads(before);
    return result;
}

// The vector loop against the plain generator: within an image, 64 blocks of four words each are
// computed side by side and laid out word by word.
TEST(DropoutMask, IsAFunctionOfSeedStepNodeImageAndElement) {
    const std::int64_t each = 7 * 103;  // no multiple of the 256 elements that are made at once
    const at::Tensor mask = mask_of({3, 7, 103}, kContext).reshape({3, each});
    const std::uint64_t purpose =
        stable_hash("blocks.0.mlp.dropout") ^ (kContext.step * 0x9E3779B97F4A7C15ULL);
    for (std::int64_t image = 0; image < 3; ++image)
        for (std::int64_t i = 0; i < each; ++i) {
            const std::int64_t block = i / 256 * 64 + i % 64, word = i % 256 / 64;
            const PhiloxBlock bits =
                philox(kContext.seed, purpose, (std::uint64_t(image) << 32) + std::uint64_t(block));
            const bool kept = double(bits[std::size_t(word)] >> 8) * 0x1p-24 < 1 - kRate;
            ASSERT_EQ(mask[image][i].item<float>(), kept ? float(1 / (1 - kRate)) : 0.0F)
                << image << " " << i;
        }
}

TEST(DropoutMask, ChangesWithSeedStepAndNode) {
    const at::Tensor mask = mask_of({2, 500}, kContext);
    EXPECT_TRUE(at::equal(mask, mask_of({2, 500}, kContext)));
    EXPECT_FALSE(at::equal(mask, mask_of({2, 500}, {.seed = 12, .step = 5})));
    EXPECT_FALSE(at::equal(mask, mask_of({2, 500}, {.seed = 11, .step = 6})));
    EXPECT_FALSE(at::equal(mask, dropout_mask("other", kRate, mask, kContext)));
    EXPECT_FALSE(at::equal(mask[0], mask[1]));
}

TEST(DropoutMask, DoesNotDependOnThreads) {
    const auto make = [] { return mask_of({5, 64, 97}, kContext); };
    const at::Tensor alone = with_threads(1, make);
    EXPECT_TRUE(at::equal(alone, with_threads(2, make)));
    EXPECT_TRUE(at::equal(alone, with_threads(3, make)));
}

TEST(DropoutMask, DoesNotDependOnHowTheBatchIsDealtOut) {
    const at::Tensor whole = mask_of({6, 300}, kContext);
    EvaluateContext part = kContext;
    part.first_image = 4;  // the last part of an accumulated step
    EXPECT_TRUE(at::equal(mask_of({2, 300}, part), whole.slice(0, 4, 6)));
    part.first_image = 1;  // the second of three processes
    part.image_stride = 3;
    EXPECT_TRUE(at::equal(mask_of({2, 300}, part), at::stack({whole[1], whole[4]})));
}

TEST(DropoutMask, KeepsTheMean) {
    for (const double rate : {0.1, 0.5, 0.9}) {
        const at::Tensor mask = dropout_mask("n", rate, torch::empty({8, 50000}), kContext);
        // 400 000 decisions: five standard deviations of their mean.
        const double deviation = std::sqrt(rate / (1 - rate) / 400000);
        EXPECT_NEAR(mask.mean().item<double>(), 1, 5 * deviation) << rate;
        EXPECT_NEAR(mask.eq(0).to(at::kFloat).mean().item<double>(), rate, 5 * deviation) << rate;
    }
}

TEST(DropoutMask, FollowsTheFormatOfItsInput) {
    const at::Tensor wide = mask_of({2, 100}, kContext);
    const at::Tensor narrow = dropout_mask("blocks.0.mlp.dropout", kRate,
                                           torch::empty({2, 100}, at::kBFloat16), kContext);
    EXPECT_EQ(narrow.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(narrow.eq(0), wide.eq(0)));
    EXPECT_EQ(dropout_mask("n", kRate, torch::empty({0, 4}), kContext).numel(), 0);
}

TEST(DropoutOp, ValuesAndGradientsArePassedThroughTheMask) {
    Builder b({.mode = Mode::train, .taps = {"y"}});
    const Value x = b.reshape(b.image(2, {3, 5}), {Shape::kBatch, 6, 5});
    const auto scope = b.scope("blocks.0.mlp");
    b.output("y", b.dropout(x, kRate));
    torch::manual_seed(1);
    const at::Tensor images = torch::randn({4, 2, 3, 5}).requires_grad_(true);
    const at::Tensor y = TorchExecutor(b.finish()).run(images, {}, kContext).at("y");
    const at::Tensor mask = mask_of({4, 6, 5}, kContext);
    EXPECT_TRUE(at::equal(y.detach(), images.detach().reshape({4, 6, 5}) * mask));
    const at::Tensor weights = torch::randn({4, 6, 5});
    (y * weights).sum().backward();
    EXPECT_TRUE(at::equal(images.grad().reshape({4, 6, 5}), weights * mask));
}

// A model with everything that can be dropped: logits and the gradients of all parameters.
TorchTensors step_of(const Graph& graph) {
    TorchTensors params;
    for (const ParamSpec& spec : graph.params) {
        torch::manual_seed(std::int64_t(params.size()));
        params[spec.name] =
            (0.3 * torch::randn(spec.shape.extents())).requires_grad_(spec.trainable);
    }
    torch::manual_seed(3);
    const at::Tensor images = torch::randn({4, 3, 16, 16});
    const at::Tensor logits = TorchExecutor(graph).run(images, params, kContext).at("logits");
    (logits * torch::linspace(-1, 1, logits.numel()).reshape(logits.sizes())).sum().backward();
    TorchTensors results{{"logits", logits.detach()}};
    for (const auto& [name, param] : params)
        if (param.grad().defined()) results[name] = param.grad();
    return results;
}

Graph dropping_cait() {
    const ModelSpec spec = configure("cait_xxs24_224", {{"image_size", "16"},
                                                        {"patch", "8"},
                                                        {"dim", "24"},
                                                        {"depth", "2"},
                                                        {"heads", "2"},
                                                        {"classes", "5"},
                                                        {"drop_path", "0.2"},
                                                        {"dropout", "0.2"},
                                                        {"attention_dropout", "0.2"}});
    return record(spec, {.mode = Mode::train});
}

TEST(DropoutOp, DecompositionKeepsTheMasks) {
    const TorchTensors direct = step_of(dropping_cait());
    const TorchTensors primitive = step_of(decompose(dropping_cait()));
    ASSERT_EQ(direct.size(), primitive.size());
    for (const auto& [name, tensor] : direct)
        test::expect_within(from_torch(primitive.at(name)), from_torch(tensor), 2e-4, name);
}

TEST(DropoutOp, ATrainingStepDoesNotDependOnThreads) {
    const auto step = [] { return step_of(dropping_cait()); };
    const TorchTensors alone = with_threads(1, step);
    const TorchTensors together = with_threads(3, step);
    for (const auto& [name, tensor] : alone)
        test::expect_within(from_torch(together.at(name)), from_torch(tensor), 1e-5, name);
}

}  // namespace
}  // namespace cait
