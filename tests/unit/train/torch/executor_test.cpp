#include "train/torch/executor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "graph/builder.h"
#include "support/two_inputs.h"

namespace cait {
namespace {

using testing::HasSubstr;

template <class Action>
std::string message_of(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

// y = x · wᵀ in the scope "head", x [B, 4]; the line on which the product is recorded.
Graph product(unsigned* line = nullptr) {
    Builder b({.taps = {"y"}});
    const Value x = b.reshape(b.image(1, {2, 2}), {Shape::kBatch, 4});
    if (line != nullptr) *line = Location::current().line() + 1;
    b.output("y", b.linear("head", x, 3, {.bias = false}));
    return b.finish();
}

TEST(Executor, NamesAParameterWithoutWeights) {
    const TorchExecutor executor(product());
    EXPECT_EQ(message_of([&] {
                  executor.run(at::zeros({1, 1, 2, 2}), {});
              }),
              "[param] no weights for 'head.weight'");
}

TEST(Executor, RefusesImagesOfAnotherShape) {
    const TorchExecutor executor(product());
    const TorchTensors params{{"head.weight", at::zeros({3, 4})}};
    EXPECT_EQ(message_of([&] {
                  executor.run(at::zeros({5, 1, 2, 3}), params);
              }),
              "[input] expected float32 images [B, 1, 2, 2], found float32 [5, 1, 2, 3]");
    EXPECT_THAT(message_of([&] {
                    executor.run(at::zeros({1, 2, 2}), params);
                }),
                HasSubstr("found float32 [1, 2, 2]"));
}

TEST(Executor, TakesSeveralInputsByName) {
    const TorchExecutor executor(test::two_inputs());
    const at::Tensor left = at::rand({4, 3}), right = at::rand({4, 2, 3});
    const at::Tensor y = executor.run({{"left", left}, {"right", right}}, {}).at("y");
    EXPECT_TRUE(at::allclose(y, 2 * left.unsqueeze(1) + 10 * right));
    EXPECT_EQ(message_of([&] {
                  executor.run({{"left", left.to(at::kLong)}, {"right", right}}, {});
              }),
              "[input] expected float32 left [B, 3], found int64 [4, 3]");
}

TEST(Executor, NamesTheNodeAndItsLineWhenLibTorchFails) {
    unsigned line = 0;
    const TorchExecutor executor(product(&line));
    const TorchTensors params{{"head.weight", at::zeros({3, 5})}};
    const std::string message = message_of([&] {
        executor.run(at::zeros({1, 1, 2, 2}), params, {.backend = Backend::aten});
    });
    EXPECT_THAT(message, HasSubstr("[linear] head.linear"));
    EXPECT_THAT(message, HasSubstr(fmt::format("executor_test.cpp:{})", line)));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Executor, ReturnsTheNamedOutputsAndNothingElse) {
    Builder b({.taps = {"middle", "end"}});
    const Value x = b.image(1, {2, 2});
    const Value middle = b.scale(x, 3);
    b.output("middle", middle);
    b.output("unwanted", b.scale(x, 7));
    b.output("end", b.scale(middle, 2, 1));
    const at::Tensor images = at::rand({2, 1, 2, 2});
    const TorchTensors found = TorchExecutor(b.finish()).run(images, {});
    ASSERT_EQ(found.size(), 2U);
    // An output stays though a later node was its last reader.
    EXPECT_TRUE(at::equal(found.at("middle"), images * 3));
    EXPECT_TRUE(at::allclose(found.at("end"), images * 6 + 1));
}

TEST(Executor, FreesAResultAfterItsLastReader) {
    using Weak = c10::weak_intrusive_ptr<c10::TensorImpl>;
    constexpr int kLength = 12;
    Builder b({.taps = {"y"}});
    Value x = b.image(1, {4, 4});
    for (int i = 0; i < kLength; ++i) x = b.scale(x, 1.5, 1);
    b.output("y", x);
    const TorchExecutor executor(b.finish());
    std::vector<Weak> results;
    std::size_t most = 0;
    EvaluateContext context;
    context.watch = [&](const Node& node, const at::Tensor& result) {
        if (std::holds_alternative<op::Input>(node.op)) return;
        results.emplace_back(result.getIntrusivePtr());
        most = std::max(most, std::size_t(std::ranges::count_if(
                                  results, [](const Weak& weak) { return !weak.expired(); })));
    };
    const at::NoGradGuard no_gradients;  // autograd would keep what its backward pass reads
    executor.run(at::rand({1, 1, 4, 4}), {}, context);
    EXPECT_EQ(results.size(), std::size_t(kLength));
    EXPECT_EQ(most, 2U);  // what is being made and what it is made of
}

TEST(Executor, FollowsTheCallersGradMode) {
    const TorchExecutor executor(product());
    const TorchTensors params{{"head.weight", at::rand({3, 4}).requires_grad_()}};
    const at::Tensor images = at::rand({2, 1, 2, 2});
    const at::Tensor y = executor.run(images, params).at("y");
    y.sum().backward();
    EXPECT_TRUE(at::allclose(params.at("head.weight").grad(),
                             images.reshape({2, 4}).sum(0).expand({3, 4})));
    const at::NoGradGuard no_gradients;
    EXPECT_FALSE(executor.run(images, params).at("y").requires_grad());
}

}  // namespace
}  // namespace cait
