#include "train/optim/ema.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "train/optim/chunks.h"

namespace cait {
namespace {

std::vector<TrainParam> sample() {
    std::vector<TrainParam> params;
    params.push_back({.name = "weight", .value = at::full({2 * kChunkSize + 3}, 1.0)});
    params.push_back(
        {.name = "mean", .value = at::full({3}, 4.0), .trained = false, .statistic = true});
    params.push_back({.name = "fixed", .value = at::full({3}, 5.0), .trained = false});
    return params;
}

void set(const TrainParam& param, double value) {
    const at::NoGradGuard no_gradients;
    param.value.fill_(value);
}

double first(const Ema& ema, const std::string& name) {
    return ema.tensors().at(name).flatten()[-1].item<double>();
}

TEST(Ema, MovesByItsShareOfTheDifference) {
    const auto params = sample();
    Ema ema(0.75, false, params);
    EXPECT_EQ(first(ema, "weight"), 1);
    set(params[0], 3);
    set(params[1], 0);
    ema.update(params);
    EXPECT_EQ(first(ema, "weight"), 1.5);
    EXPECT_EQ(first(ema, "mean"), 3);  // statistics are averaged, too
    EXPECT_EQ(first(ema, "fixed"), 5);
    EXPECT_EQ(ema.tensors().at("fixed").data_ptr(), params[2].value.data_ptr());
    EXPECT_TRUE(at::equal(ema.tensors().at("weight"), at::full({2 * kChunkSize + 3}, 1.5)));
}

TEST(Ema, WarmsUp) {
    const auto params = sample();
    Ema ema(0.99, true, params);
    set(params[0], 2);
    ema.update(params);  // keeps 1 / 10
    EXPECT_NEAR(first(ema, "weight"), 1.9, 1e-6);
    ema.update(params);  // keeps 2 / 11
    EXPECT_NEAR(first(ema, "weight"), 2 - 0.1 * 2 / 11, 1e-6);
}

TEST(Ema, GoesOnFromItsStateBitForBit) {
    const auto params = sample();
    Ema ema(0.9, true, params), other(0.9, true, params);
    set(params[0], 0.3);
    ema.update(params);
    std::map<std::string, at::Tensor> state;
    for (const auto& [name, tensor] : ema.state()) state[name] = tensor.clone();
    EXPECT_EQ(state.size(), 3U);
    other.load_state(state);
    set(params[0], 0.7);
    ema.update(params);
    other.update(params);
    EXPECT_TRUE(at::equal(ema.tensors().at("weight"), other.tensors().at("weight")));
    state.erase("average.mean");
    EXPECT_THROW(other.load_state(state), Error);
}

TEST(Ema, LoopEqualsLibTorchOperations) {
    torch::manual_seed(1);
    const std::vector<TrainParam> narrow{{.name = "x", .value = at::randn({1000})}};
    const std::vector<TrainParam> wide{{.name = "x", .value = narrow[0].value.to(at::kDouble)}};
    Ema fast(0.9, false, narrow), plain(0.9, false, wide);
    for (int step = 0; step < 5; ++step) {
        const at::Tensor values = at::randn({1000});
        narrow[0].value.copy_(values);
        wide[0].value.copy_(values);
        fast.update(narrow);
        plain.update(wide);
    }
    EXPECT_TRUE(
        at::allclose(fast.tensors().at("x").to(at::kDouble), plain.tensors().at("x"), 1e-5, 1e-6));
}

TEST(Ema, RefusesADecayOfOneAndOtherParameters) {
    const auto params = sample();
    EXPECT_THROW(Ema(1, false, params), UsageError);
    Ema ema(0.9, false, params);
    EXPECT_THROW(ema.update(std::span(params).first(2)), Error);
}

}  // namespace
}  // namespace cait
