// Dropout on LibTorch: what it does to values and gradients.
#include <gtest/gtest.h>

#include <map>

#include "models/catalogue.h"
#include "support/near.h"
#include "train/torch/convert.h"
#include "train/torch/dropout_mask.h"
#include "train/torch/executor.h"

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
