// Numbers that can be checked by hand. The conformance tests hold the interpreter against LibTorch
// on whole models.
#include "graph/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "cait/error.h"
#include "graph/builder.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr std::int64_t B = Shape::kBatch;

// An image batch with the values 0, 1, 2, …
Tensor counting(const Shape& shape) {
    Tensor tensor = Tensor::empty(DType::f32, shape);
    std::iota(tensor.mutable_floats().begin(), tensor.mutable_floats().end(), 0.0F);
    return tensor;
}

using Build = std::function<Value(Builder&, Value image)>;

// What a small graph makes of counting images; parameters count, too.
std::vector<float> run(const Shape& images, const Build& build) {
    Builder b({.taps = {"y"}});
    b.output("y", build(b, b.image(images[1], {images[2], images[3]})));
    const Graph graph = b.finish();
    WeightMap weights;
    for (const ParamSpec& spec : graph.params) weights[spec.name] = counting(spec.shape);
    const Tensor y = run_reference(graph, counting(images), weights).at("y");
    return {y.floats().begin(), y.floats().end()};
}

Value param(Builder& b, const char* name, Shape shape) {
    return b.param(name, std::move(shape), Init::zeros());
}

auto near(std::vector<float> values) { return Pointwise(FloatNear(1e-6F), values); }

TEST(Reference, Products) {
    // [0 1; 2 3] times the rows [0 1], [2 3], [4 5], plus 0, 1, 2
    EXPECT_THAT(run({1, 1, 2, 2},
                    [](Builder& b, Value x) {
                        return b.linear(x, {param(b, "w", {3, 2}), param(b, "b", {3})});
                    }),
                ElementsAre(1, 4, 7, 3, 14, 25));
    const auto square = [](bool transposed) {
        return run({1, 1, 2, 2}, [=](Builder& b, Value x) { return b.matmul(x, x, transposed); });
    };
    EXPECT_THAT(square(false), ElementsAre(2, 3, 6, 11));
    EXPECT_THAT(square(true), ElementsAre(1, 3, 3, 13));
}

TEST(Reference, ElementsBroadcast) {
    EXPECT_THAT(run({1, 2, 1, 2},
                    [](Builder& b, Value x) {
                        return b.add(x, param(b, "p", {2, 1, 1}));
                    }),
                ElementsAre(0, 1, 3, 4));
    EXPECT_THAT(run({2, 1, 1, 2}, [](Builder& b, Value x) { return b.mul(param(b, "p", {2}), x); }),
                ElementsAre(0, 1, 0, 3));
    EXPECT_THAT(run({1, 1, 1, 3}, [](Builder& b, Value x) { return b.scale(x, 2, -1); }),
                ElementsAre(-1, 1, 3));
}

TEST(Reference, Activations) {
    using Kind = op::Activation::Kind;
    const auto at = [](Kind kind) {  // of -1, 0, 1, 2
        return run({1, 1, 1, 4},
                   [=](Builder& b, Value x) { return b.activation(b.scale(x, 1, -1), kind); });
    };
    EXPECT_THAT(at(Kind::relu), near({0, 0, 1, 2}));
    EXPECT_THAT(at(Kind::gelu), near({-0.15865525F, 0, 0.84134475F, 1.9544997F}));
    EXPECT_THAT(at(Kind::silu), near({-0.26894142F, 0, 0.73105858F, 1.7615942F}));
    EXPECT_THAT(at(Kind::sigmoid), near({0.26894142F, 0.5F, 0.73105858F, 0.88079708F}));
    EXPECT_THAT(at(Kind::tanh), near({-0.76159416F, 0, 0.76159416F, 0.96402758F}));
    const auto roots = [](Kind kind) {  // of 1, 2
        return run({1, 1, 1, 2},
                   [=](Builder& b, Value x) { return b.activation(b.scale(x, 1, 1), kind); });
    };
    EXPECT_THAT(roots(Kind::sqrt), near({1, 1.4142136F}));
    EXPECT_THAT(roots(Kind::rsqrt), near({1, 0.70710678F}));
}

TEST(Reference, SoftmaxAlongAnyAxis) {
    EXPECT_THAT(run({1, 1, 2, 2}, [](Builder& b, Value x) { return b.softmax(x); }),
                near({0.26894142F, 0.73105858F, 0.26894142F, 0.73105858F}));
    EXPECT_THAT(run({1, 1, 2, 2}, [](Builder& b, Value x) { return b.softmax(x, 2); }),
                near({0.11920292F, 0.11920292F, 0.88079708F, 0.88079708F}));
}

TEST(Reference, Reductions) {
    using Kind = op::Reduce::Kind;
    const auto reduced = [](Kind kind, std::vector<std::int64_t> axes, bool keep = false) {
        return run({2, 1, 2, 3},
                   [=](Builder& b, Value x) { return b.reduce(x, kind, axes, keep); });
    };
    EXPECT_THAT(reduced(Kind::sum, {-1}), ElementsAre(3, 12, 21, 30));
    EXPECT_THAT(reduced(Kind::mean, {2}, true), ElementsAre(1.5, 2.5, 3.5, 7.5, 8.5, 9.5));
    EXPECT_THAT(reduced(Kind::max, {1, 2, 3}), ElementsAre(5, 11));
}

TEST(Reference, Arrangements) {
    EXPECT_THAT(run({1, 1, 2, 3},
                    [](Builder& b, Value x) {
                        return b.permute(x, {0, 1, 3, 2});
                    }),
                ElementsAre(0, 3, 1, 4, 2, 5));
    EXPECT_THAT(run({1, 1, 2, 3}, [](Builder& b, Value x) { return b.slice(x, 3, 1, 3); }),
                ElementsAre(1, 2, 4, 5));
    EXPECT_THAT(run({1, 1, 2, 2},
                    [](Builder& b, Value x) {
                        return b.concat({b.slice(x, 3, 1, 2), x}, 3);
                    }),
                ElementsAre(1, 0, 1, 3, 2, 3));
    EXPECT_THAT(run({2, 1, 1, 1},
                    [](Builder& b, Value x) {
                        const Value token = b.expand(param(b, "t", {1, 2}));
                        return b.concat({b.reshape(x, {B, 1}), token}, 1);
                    }),
                ElementsAre(0, 0, 1, 1, 0, 1));
}

TEST(Reference, Convolutions) {
    // Two groups: channel 0 with the kernel 0, channel 1 with the kernel 1.
    EXPECT_THAT(run({1, 2, 2, 2},
                    [](Builder& b, Value x) {
                        return b.conv2d(x, {param(b, "w", {2, 1, 1, 1}), param(b, "b", {2})},
                                        {.groups = 2});
                    }),
                ElementsAre(0, 0, 0, 0, 5, 6, 7, 8));
    // A window of 2×2 that hangs over the border on all sides.
    EXPECT_THAT(
        run({1, 1, 2, 2},
            [](Builder& b, Value x) {
                return b.conv2d(x, {param(b, "w", {1, 1, 2, 2}), {}}, {.stride = 2, .padding = 1});
            }),
        ElementsAre(0 * 3, 1 * 2, 2 * 1, 3 * 0));
}

TEST(Reference, PoolingDoesNotSeeBeyondTheImage) {
    using Kind = op::Pool2d::Kind;
    const auto pooled = [](Kind kind, bool ceil) {
        return run({1, 1, 3, 3}, [=](Builder& b, Value x) {
            return b.pool2d(b.scale(x, 1, -10), {.kind = kind, .kernel = 2, .ceil = ceil});
        });
    };
    EXPECT_THAT(pooled(Kind::max, false), ElementsAre(-6));
    EXPECT_THAT(pooled(Kind::max, true), ElementsAre(-6, -5, -3, -2));
    EXPECT_THAT(pooled(Kind::average, true), ElementsAre(-8, -6.5, -3.5, -2));
}

TEST(Reference, ATransposedConvolutionMakesAPatchOfEveryPixel) {
    // The weights are 0 1 2 3 for the only channel.
    EXPECT_THAT(
        run({1, 1, 1, 3},
            [](Builder& b, Value x) {
                return b.conv_transpose2d(x, {param(b, "w", {1, 1, 2, 2}), param(b, "b", {1})});
            }),
        ElementsAre(0, 0, 0, 1, 0, 2, 0, 0, 2, 3, 4, 6));
}

TEST(Reference, ResizingIsThatOfPyTorch) {
    const auto resized = [](Shape from, op::Resize::Kind kind, std::int64_t height,
                            std::int64_t width) {
        return run(std::move(from), [=](Builder& b, Value x) {
            return b.resize(x, {.kind = kind, .height = height, .width = width});
        });
    };
    using Kind = op::Resize::Kind;
    EXPECT_THAT(resized({1, 1, 1, 2}, Kind::bilinear, 1, 4), ElementsAre(0, 0.25, 0.75, 1));
    EXPECT_THAT(resized({1, 1, 1, 4}, Kind::bilinear, 1, 2), ElementsAre(0.5, 2.5));
    EXPECT_THAT(resized({1, 1, 2, 2}, Kind::bilinear, 1, 1), ElementsAre(1.5));
    EXPECT_THAT(resized({1, 1, 1, 3}, Kind::nearest, 2, 5),
                ElementsAre(0, 0, 1, 1, 2, 0, 0, 1, 1, 2));
}

TEST(Reference, PartsOfAdaptivePoolingOverlap) {
    EXPECT_THAT(run({1, 1, 1, 5}, [](Builder& b, Value x) { return b.adaptive_pool2d(x, 2); }),
                ElementsAre(1, 3, 1, 3));
    EXPECT_THAT(run({1, 1, 2, 2}, [](Builder& b, Value x) { return b.adaptive_pool2d(x, 1); }),
                ElementsAre(1.5));
}

TEST(Reference, FoldSumsWhatUnfoldRepeats) {
    const op::Unfold unfold{3, 1, 1};
    EXPECT_THAT(run({1, 1, 2, 2}, [&](Builder& b, Value x) { return b.unfold(x, unfold); }),
                ElementsAre(0, 0, 0, 0,  // above and left of each window's centre
                            0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1, 0, 3, 0, 0, 2, 0, 0,
                            2, 3, 0, 0, 3, 0, 0, 0));
    EXPECT_THAT(run({1, 1, 2, 2},
                    [&](Builder& b, Value x) {
                        return b.fold(b.unfold(x, unfold), {3, 1, 1, 2, 2});
                    }),
                ElementsAre(0, 4, 8, 12));  // four windows see each pixel
}

TEST(Reference, BatchNormByRunningStatistics) {
    Builder b({.taps = {"y"}});
    b.output("y", b.batch_norm("bn", b.image(2, {1, 2}), Init::ones(), {.epsilon = 1}));
    const auto pair = [](std::vector<float> values) { return Tensor::of({2}, values); };
    const WeightMap weights{{"bn.weight", pair({1, 2})},
                            {"bn.bias", pair({0, 10})},
                            {"bn.running_mean", pair({1, 2})},
                            {"bn.running_var", pair({0, 3})}};
    const Tensor y = run_reference(b.finish(), counting({1, 2, 1, 2}), weights).at("y");
    EXPECT_THAT(y.floats(), ElementsAre(-1, 0, 10, 11));
}

TEST(Reference, CompositesRunAsTheirDecomposition) {
    EXPECT_THAT(run({1, 1, 1, 2},
                    [](Builder& b, Value x) {
                        return b.residual(x, b.scale(x, 10), param(b, "g", {2}), 0);
                    }),
                ElementsAre(0, 11));
}

std::string message_of(const Graph& graph, const Tensor& images, const WeightMap& weights) {
    try {
        run_reference(graph, images, weights);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Reference, RefusesWhatItCannotRun) {
    Builder b({.taps = {"y"}});
    b.output("y", b.add(b.image(1, {1, 2}), param(b, "p", {2})));
    const Graph graph = b.finish();
    const Tensor images = counting({1, 1, 1, 2});
    EXPECT_THAT(message_of(graph, images, {}), HasSubstr("no weights for 'p'"));
    EXPECT_THAT(message_of(graph, images, {{"p", counting({3})}}),
                HasSubstr("p: expected [2], found [3]"));
    EXPECT_THAT(message_of(graph, counting({1, 1, 2, 2}), {{"p", counting({2})}}),
                HasSubstr("expected float32 images [B, 1, 1, 2], found float32 [1, 1, 2, 2]"));
    EXPECT_THAT(message_of(graph, {}, {{"p", counting({2})}}), HasSubstr("found none"));
    Graph training = graph;
    training.mode = Mode::train;
    EXPECT_THAT(message_of(training, images, {}), HasSubstr("recorded for inference"));
}

}  // namespace
}  // namespace cait
