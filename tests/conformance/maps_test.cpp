// The primitives that change the size of a map: LibTorch, which defines them, the plain interpreter
// and the engine agree, and so does what drops whole channels.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "engine/plan.h"
#include "graph/builder.h"
#include "graph/initialize.h"
#include "graph/reference.h"
#include "support/near.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

struct MapCase {
    std::string name;
    std::function<Value(Builder&, Value x)> build;  // x is [B, 19, 7, 10]
};

std::vector<MapCase> map_cases() {
    using Kind = op::Resize::Kind;
    const auto resize = [](Kind kind, std::int64_t height, std::int64_t width) {
        return [=](Builder& b, Value x) {
            return b.resize(x, {.kind = kind, .height = height, .width = width});
        };
    };
    const auto pool = [](std::int64_t size) {
        return [=](Builder& b, Value x) { return b.adaptive_pool2d(x, size); };
    };
    return {
        {"bilinear_twice", resize(Kind::bilinear, 14, 20)},
        {"bilinear_half", resize(Kind::bilinear, 3, 5)},
        {"bilinear_odd", resize(Kind::bilinear, 11, 23)},
        {"bilinear_one_pixel", resize(Kind::bilinear, 1, 1)},
        {"bilinear_from_one_pixel",
         [](Builder& b, Value x) {
             return b.resize(b.adaptive_pool2d(x, 1), {.height = 7, .width = 10});
         }},
        {"nearest_twice", resize(Kind::nearest, 14, 20)},
        {"nearest_odd", resize(Kind::nearest, 5, 14)},
        {"parts_1", pool(1)},
        {"parts_2", pool(2)},
        {"parts_3", pool(3)},
        {"parts_6", pool(6)},
        {"parts_more_than_pixels", pool(9)},
        {"joined_channels_last",
         [](Builder& b, Value x) {
             const Value up = b.resize(x, {.height = 7, .width = 10});
             return b.concat({up, b.conv2d("conv", x, 3), x}, 1);
         }},
    };
}

Graph graph_of(const MapCase& one, Mode mode) {
    Builder b({.mode = mode, .taps = {"y"}});
    b.output("y", one.build(b, b.image(19, {7, 10})));
    return b.finish();
}

class Maps : public testing::TestWithParam<MapCase> {
protected:
    static Tensor images() {
        Tensor images = Tensor::empty(DType::f32, {5, 19, 7, 10});
        RandomStream random(4, "maps");
        for (float& value : images.mutable_floats()) value = random.normal();
        return images;
    }
};

TEST_P(Maps, AreTheSameEverywhere) {
    const Graph graph = graph_of(GetParam(), Mode::infer);
    const WeightMap weights = initialize(graph, 1);
    TorchTensors params;
    for (const auto& [name, tensor] : weights) params[name] = to_torch(tensor);
    const Tensor expected =
        from_torch(TorchExecutor(graph).run(to_torch(images()), params).at("y"));
    test::expect_within(run_reference(graph, images(), weights).at("y"), expected, 2e-6,
                        "the plain interpreter");
    for (const int threads : {1, 3}) {
        const engine::Plan plan(graph, weights, {.batch = 3, .threads = threads});
        Tensor found = Tensor::empty(DType::f32, expected.shape());
        const std::vector<float*> targets{found.mutable_floats().data()};
        plan.run(images().floats().data(), 5, targets);
        test::expect_within(found, expected, 2e-6, "the engine");
    }
}

INSTANTIATE_TEST_SUITE_P(All, Maps, testing::ValuesIn(map_cases()),
                         [](const auto& i) { return i.param.name; });

TEST(Dropout2dOp, DropsWholeChannelsAndKeepsTheMean) {
    Builder b({.mode = Mode::train, .taps = {"y"}});
    b.output("y", b.dropout2d(b.image(40, {3, 5}), 0.25));
    const Graph graph = b.finish();
    const at::Tensor images = torch::ones({6, 40, 3, 5}).requires_grad_(true);
    const EvaluateContext context{.mode = Mode::train, .seed = 11, .step = 5};
    const at::Tensor y = TorchExecutor(graph).run(images, {}, context).at("y");
    const at::Tensor channels = y.amax({2, 3});
    EXPECT_TRUE(at::equal(channels, y.amin({2, 3})));
    EXPECT_NEAR(channels.mean().item<double>(), 1, 0.15);
    EXPECT_NEAR(channels.max().item<double>(), 1 / 0.75, 1e-6);
    EXPECT_EQ(channels.min().item<double>(), 0);
    y.sum().backward();
    EXPECT_TRUE(at::equal(images.grad(), y.detach()));
    const EvaluateContext next{.mode = Mode::train, .seed = 11, .step = 6};
    EXPECT_FALSE(at::equal(TorchExecutor(graph).run(images, {}, next).at("y"), y));
}

// One image that is pooled to a pixel has no variance to measure.
TEST(BatchNormOp, OfOneValueAChannelUsesTheRunningStatistics) {
    Builder b({.mode = Mode::train, .taps = {"y"}});
    b.output("y", b.batch_norm("bn", b.adaptive_pool2d(b.image(3, {4, 4}), 1)));
    const Graph graph = b.finish();
    TorchTensors params;
    for (const auto& [name, tensor] : initialize(graph, 1)) params[name] = to_torch(tensor);
    const EvaluateContext context{.mode = Mode::train};
    const at::Tensor images = torch::full({1, 3, 4, 4}, 2.0);
    const at::Tensor y = TorchExecutor(graph).run(images, params, context).at("y");
    EXPECT_NEAR(y.min().item<double>(), 2, 1e-4);
    EXPECT_EQ(params.at("bn.running_var").min().item<double>(), 1);
}

}  // namespace
}  // namespace cait
