#include "train/torch/fake_quantize.h"

#include <gtest/gtest.h>

#include "cait/session.h"
#include "engine/signal_noise.h"
#include "models/catalogue.h"
#include "support/small_models.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

TEST(FakeQuantize, RoundsRowsAsTheEngineDoes) {
    const at::Tensor x = at::tensor({1.0F, -0.5F, 0.25F, 0.0F, -254.0F, 3.0F, 2.0F, 1.0F});
    const at::Tensor rows = fake_quantize(x.reshape({2, 4}));
    const at::Tensor expected =
        at::tensor({127.0F, -64.0F, 32.0F, 0.0F, -127.0F, 2.0F, 1.0F, 0.0F}).reshape({2, 4}) *
        at::tensor({1.0F / 127, 2.0F}).reshape({2, 1});
    EXPECT_TRUE(at::allclose(rows, expected, 1e-6, 1e-6)) << rows;
    // A scale for each half of a row.
    const at::Tensor halves = fake_quantize(x.reshape({1, 8}), 4);
    EXPECT_TRUE(at::allclose(halves.reshape({2, 4}), expected, 1e-6, 1e-6)) << halves;
    EXPECT_EQ(fake_quantize(at::zeros({2, 3})).abs().sum().item<float>(), 0);
}

TEST(FakeQuantize, GradientsPassStraightThrough) {
    at::Tensor x = at::tensor({0.3F, -0.7F, 0.11F}).reshape({1, 3}).set_requires_grad(true);
    const at::Tensor factor = at::tensor({2.0F, 3.0F, 5.0F});
    (fake_quantize(x) * factor).sum().backward();
    EXPECT_TRUE(at::equal(x.grad().reshape({3}), factor));
}

// Small models of two families with more tokens than a class token: the rounding is the same, so
// little is left but bfloat16 of the attention.
TEST(FakeQuantize, EqualsTheEnginesInt8) {
    for (const char* name : {"cait_xxs24_224", "deit_tiny_patch16_224"}) {
        const SettingList settings{{"image_size", "32"}, {"patch", "8"}, {"dim", "48"},
                                   {"depth", "3"},       {"heads", "4"}, {"classes", "5"}};
        const Model fresh = Model::create(name, settings, 3);
        const Graph graph = record(fresh.spec());
        const Model model = fresh.with_weights(test::lively_weights(graph));
        const Tensor images = test::random_images(model.spec(), 4);
        TorchTensors params;
        for (const auto& [key, tensor] : model.weights()) params[key] = to_torch(tensor);
        const auto in_torch = [&](bool quantize) {
            EvaluateContext context;
            context.quantize = quantize;
            const at::NoGradGuard guard;
            return TorchExecutor(graph).run(to_torch(images), params, context).at("logits");
        };
        const Tensor expected =
            Session(model, {.precision = Precision::int8}).run(images).at("logits");
        const auto decibels = [&](const at::Tensor& found) {
            const at::Tensor values = found.contiguous();
            engine::SignalNoise error;
            error.add(expected.floats(), {values.data_ptr<float>(), std::size_t(values.numel())});
            return error.decibels();
        };
        EXPECT_GT(decibels(in_torch(true)), 35) << name;
        EXPECT_GT(decibels(in_torch(true)), decibels(in_torch(false)) + 3) << name;
    }
}

}  // namespace
}  // namespace cait
