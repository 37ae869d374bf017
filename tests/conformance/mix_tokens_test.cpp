// MixToken on LibTorch: what images exchange, what comes back, and when nothing is recorded.
#include <gtest/gtest.h>

#include "models/catalogue.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

constexpr GridBox kBox{.top = 1, .left = 0, .height = 2, .width = 1};

// Rows are the channels of an image here: [B, 6, 4, 3] with cells of 2.
Graph exchange(int times) {
    Builder b({.mode = Mode::train, .mix_tokens = true, .taps = {"y"}});
    Value x = b.image(6, {4, 3});
    for (int i = 0; i < times; ++i) x = b.mix_tokens(x, 2);
    b.output("y", x);
    return b.finish();
}

EvaluateContext with(const GridBox& box) {
    EvaluateContext context;
    context.token_box = box;
    return context;
}

TEST(MixTokens, ABoxComesFromTheImageAtTheOtherEnd) {
    torch::manual_seed(1);
    const at::Tensor x = torch::randn({3, 6, 4, 3}).requires_grad_(true);
    const at::Tensor y = TorchExecutor(exchange(1)).run(x, {}, with(kBox)).at("y");
    at::Tensor expected = x.detach().clone(), weights = torch::randn({3, 6, 4, 3});
    const auto inside = [](const at::Tensor& t) { return t.slice(1, 2, 6).slice(2, 0, 2); };
    inside(expected).copy_(inside(x.detach().flip(0)));
    EXPECT_TRUE(at::equal(y.detach(), expected));
    EXPECT_FALSE(at::equal(y.detach(), x.detach()));
    (y * weights).sum().backward();
    at::Tensor gradient = weights.clone();
    inside(gradient).copy_(inside(weights.flip(0)));
    EXPECT_TRUE(at::equal(x.grad(), gradient));
}

TEST(MixTokens, TwiceIsNothingAndSoIsAnEmptyBox) {
    torch::manual_seed(2);
    const at::Tensor x = torch::randn({4, 6, 4, 3});
    EXPECT_TRUE(at::equal(TorchExecutor(exchange(2)).run(x, {}, with(kBox)).at("y"), x));
    EXPECT_TRUE(at::equal(TorchExecutor(exchange(1)).run(x, {}, with({2, 1, 0, 1})).at("y"), x));
}

// A whole image's worth of tokens is exchanged: its own token labels come out in its own row, the
// class token's in that of the other.
TEST(MixTokens, VoloPutsTokensBackIntoTheirImages) {
    const ModelSpec spec = configure("volo_d1_224", {{"image_size", "32x48"},
                                                     {"classes", "5"},
                                                     {"layers", "1,1,1,1"},
                                                     {"dims", "8,16,16,16"},
                                                     {"heads", "2,4,2,4"},
                                                     {"stem", "6"},
                                                     {"drop_path", "0"}});
    const auto graph = [&](Mode mode, bool mixes) {
        return record(spec,
                      {.mode = mode, .mix_tokens = mixes, .taps = {"logits_class", "logits_aux"}});
    };
    TorchTensors params;
    for (const ParamSpec& param : graph(Mode::train, true).params) {
        torch::manual_seed(std::int64_t(params.size()));
        params[param.name] = 0.3 * torch::randn(param.shape.extents()).abs();
    }
    torch::manual_seed(3);
    const at::Tensor images = torch::randn({4, 3, 32, 48});
    EvaluateContext all = with({0, 0, 2, 3});
    all.frozen = true;  // batch norms forget nothing between the two runs
    const TorchTensors mixed = TorchExecutor(graph(Mode::train, true)).run(images, params, all);
    const TorchTensors plain = TorchExecutor(graph(Mode::train, false)).run(images, params, all);
    EXPECT_TRUE(at::allclose(mixed.at("logits_aux"), plain.at("logits_aux"), 1e-5, 1e-5));
    EXPECT_TRUE(
        at::allclose(mixed.at("logits_class"), plain.at("logits_class").flip(0), 1e-5, 1e-5));
    EXPECT_FALSE(at::allclose(mixed.at("logits_class"), plain.at("logits_class"), 1e-3, 1e-3));
    EXPECT_EQ(print(graph(Mode::infer, true)), print(graph(Mode::infer, false)));
}

}  // namespace
}  // namespace cait
