#include "train/optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "train/optim/chunks.h"

namespace cait {
namespace {

using testing::HasSubstr;

TrainParam param(const std::string& name, const at::Tensor& value, bool decay = true) {
    TrainParam result{.name = name, .value = value.clone(), .decay = decay};
    result.value.requires_grad_();
    return result;
}

OptimPart options(OptimizerKind name) {
    OptimPart part;
    part.name = name;
    part.weight_decay = 0.1;
    return part;
}

// Several chunks, one that is not a multiple of anything, a scalar-like one that does not decay.
std::vector<TrainParam> sample_params(at::ScalarType type = at::kFloat) {
    torch::manual_seed(1);
    std::vector<TrainParam> params;
    params.push_back(param("large", at::randn({3, kChunkSize / 2}).to(type)));
    params.push_back(param("odd", at::randn({37, 41}).to(type)));
    params.push_back(param("bias", at::randn({5}).to(type), false));
    params[1].lr_scale = 0.5;
    return params;
}

void set_gradients(std::vector<TrainParam>& params, std::int64_t step) {
    torch::manual_seed(std::uint64_t(100 + step));
    for (TrainParam& p : params)
        p.value.mutable_grad() = at::randn(p.value.sizes()).to(p.value.scalar_type());
}

void take_steps(Optimizer& optimizer, std::vector<TrainParam>& params, std::int64_t from,
                std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) {
        set_gradients(params, step);
        optimizer.step(0.01 * double(step + 1));
    }
}

const char* name_of(OptimizerKind kind) {
    switch (kind) {
        case OptimizerKind::adamw: return "adamw";
        case OptimizerKind::lamb: return "lamb";
        case OptimizerKind::adagrad: return "adagrad";
        default: return "sgd";
    }
}

class Optimizers : public testing::TestWithParam<OptimizerKind> {};

TEST_P(Optimizers, LoopsOverMemoryEqualLibTorchOperations) {
    std::vector<TrainParam> fast = sample_params(), plain = sample_params(at::kDouble);
    // A transposed parameter is not contiguous and takes the other way, in float32.
    fast.push_back(param("turned", at::randn({8, 6})));
    plain.push_back(param("turned", fast.back().value.detach().to(at::kDouble)));
    std::vector<TrainParam> turned = fast;
    for (TrainParam& p : turned) p = param(p.name, p.value.detach(), p.decay);
    turned[1].lr_scale = 0.5;
    turned.back().value = fast.back().value.detach().t().contiguous().t().requires_grad_();
    ASSERT_FALSE(turned.back().value.is_contiguous());

    for (std::vector<TrainParam>* params : {&fast, &plain, &turned}) {
        const auto optimizer = make_optimizer(options(GetParam()), *params);
        take_steps(*optimizer, *params, 0, 5);
    }
    for (std::size_t i = 0; i < fast.size(); ++i) {
        const at::Tensor found = fast[i].value.detach();
        EXPECT_TRUE(at::allclose(found.to(at::kDouble), plain[i].value, 1e-5, 2e-6))
            << fast[i].name;
        EXPECT_TRUE(at::allclose(found, turned[i].value, 1e-5, 2e-6)) << fast[i].name;
    }
}

TEST_P(Optimizers, ResultsDoNotDependOnTheNumberOfThreads) {
    std::vector<at::Tensor> results[2];
    const int before = at::get_num_threads();
    for (const int threads : {1, 3}) {
        at::set_num_threads(threads);
        std::vector<TrainParam> params = sample_params();
        const auto optimizer = make_optimizer(options(GetParam()), params);
        take_steps(*optimizer, params, 0, 3);
        for (const TrainParam& p : params) results[threads / 3].push_back(p.value.detach());
    }
    at::set_num_threads(before);
    for (std::size_t i = 0; i < results[0].size(); ++i)
        EXPECT_TRUE(at::equal(results[0][i], results[1][i]));
}

TEST_P(Optimizers, GoesOnFromItsStateBitForBit) {
    std::vector<TrainParam> whole = sample_params();
    const auto optimizer = make_optimizer(options(GetParam()), whole);
    take_steps(*optimizer, whole, 0, 3);
    std::map<std::string, at::Tensor> state;
    for (const auto& [name, tensor] : optimizer->state()) state[name] = tensor.clone();
    EXPECT_EQ(state.at("step").item<std::int64_t>(), 3);
    EXPECT_EQ(state.at("step").scalar_type(), at::kLong);

    std::vector<TrainParam> resumed;
    for (const TrainParam& p : whole) {
        resumed.push_back(param(p.name, p.value.detach(), p.decay));
        resumed.back().lr_scale = p.lr_scale;
    }
    const auto other = make_optimizer(options(GetParam()), resumed);
    other->load_state(state);
    take_steps(*optimizer, whole, 3, 6);
    take_steps(*other, resumed, 3, 6);
    for (std::size_t i = 0; i < whole.size(); ++i)
        EXPECT_TRUE(at::equal(whole[i].value, resumed[i].value)) << whole[i].name;
}

TEST_P(Optimizers, ForeignStateIsRefusedWhole) {
    std::vector<TrainParam> params = sample_params();
    const auto optimizer = make_optimizer(options(GetParam()), params);
    std::map<std::string, at::Tensor> state;
    for (const auto& [name, tensor] : optimizer->state()) state[name] = at::ones_like(tensor);
    const auto refusal = [&] {
        try {
            optimizer->load_state(state);
        } catch (const Error& error) {
            EXPECT_EQ(optimizer->steps(), 0);
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const std::string name = optimizer->state()[1].first;
    state["more"] = at::zeros({2});
    EXPECT_THAT(refusal(), HasSubstr("'more': expected nothing of that name, found Float [2]"));
    state.erase("more");
    state[name] = at::zeros({3});
    EXPECT_THAT(refusal(), HasSubstr(name + "': expected Float [3, 8192], found Float [3]"));
    state.erase(name);
    EXPECT_THAT(refusal(), HasSubstr(name + "': expected Float [3, 8192], found none"));
}

TEST_P(Optimizers, LeavesAloneWhatIsFrozenOrHasNoGradient) {
    std::vector<TrainParam> params = sample_params();
    params[0].trained = false;
    const auto optimizer = make_optimizer(options(GetParam()), params);
    set_gradients(params, 0);
    params[1].value.mutable_grad() = at::Tensor();
    const at::Tensor frozen = params[0].value.detach().clone(), idle = params[1].value.clone();
    const at::Tensor moved = params[2].value.detach().clone();
    optimizer->step(0.1);
    EXPECT_TRUE(at::equal(params[0].value, frozen));
    EXPECT_TRUE(at::equal(params[1].value, idle));
    EXPECT_FALSE(at::equal(params[2].value, moved));
    optimizer->zero_grad();
    EXPECT_FALSE(params[2].value.grad().defined());
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers,
                         testing::Values(OptimizerKind::adamw, OptimizerKind::lamb,
                                         OptimizerKind::sgd, OptimizerKind::adagrad),
                         [](const auto& i) { return name_of(i.param); });

// One step on one number, worked out by hand.
double one_step(const OptimPart& part, double value, double grad, double lr, bool decay = true) {
    std::vector<TrainParam> params{param("x", at::full({1, 1}, value), decay)};
    params[0].value.mutable_grad() = at::full({1, 1}, grad);
    make_optimizer(part, params)->step(lr);
    return params[0].value.item<double>();
}

TEST(AdamW, FirstStepIsTheRateAlongTheSignAfterTheDecay) {
    EXPECT_NEAR(one_step(options(OptimizerKind::adamw), 2, 0.3, 0.01), 2 * (1 - 0.001) - 0.01,
                1e-6);
    EXPECT_NEAR(one_step(options(OptimizerKind::adamw), 2, -7, 0.01, false), 2.01, 1e-6);
}

TEST(Lamb, StepHasTheSizeOfTheWeightsTimesTheRate) {
    // The update is sign + decay * value = 1.2; its trust ratio 2 / 1.2 makes it 2.
    EXPECT_NEAR(one_step(options(OptimizerKind::lamb), 2, 0.3, 0.01), 2 - 0.01 * 2, 1e-6);
    EXPECT_NEAR(one_step(options(OptimizerKind::lamb), 2, 0.3, 0.01, false), 2 - 0.01, 1e-6);
    // A weight of zero has no size to go by.
    EXPECT_NEAR(one_step(options(OptimizerKind::lamb), 0, 0.3, 0.01), -0.01, 1e-6);
}

TEST(Sgd, LooksAheadWithNesterovsRule) {
    OptimPart part = options(OptimizerKind::sgd);  // gradient 0.3 + 0.1 * 2 = 0.5
    EXPECT_NEAR(one_step(part, 2, 0.3, 0.01), 2 - 0.01 * (0.5 + 0.9 * 0.5), 1e-6);
    part.nesterov = false;
    EXPECT_NEAR(one_step(part, 2, 0.3, 0.01), 2 - 0.01 * 0.5, 1e-6);
}

TEST(Adagrad, DividesByTheRootOfAllSquaresSoFar) {
    OptimPart part = options(OptimizerKind::adagrad);
    part.epsilon = 1e-10;
    // The first step goes by the sign; the decay joins the gradient: 0.3 + 0.1 * 2 = 0.5.
    EXPECT_NEAR(one_step(part, 2, 0.3, 0.01), 2 - 0.01, 1e-6);
    EXPECT_NEAR(one_step(part, 2, -0.3, 0.01), 2 + 0.01, 1e-6);
    part.epsilon = 0.5;
    EXPECT_NEAR(one_step(part, 2, 0.3, 0.01), 2 - 0.01 * 0.5 / (0.5 + 0.5), 1e-6);
    EXPECT_NEAR(one_step(part, 2, 0.3, 0.01, false), 2 - 0.01 * 0.3 / (0.3 + 0.5), 1e-6);
    part.epsilon = 1e-10;
    part.weight_decay = 0;
    std::vector<TrainParam> params{param("x", at::full({1, 1}, 2.0))};
    const auto optimizer = make_optimizer(part, params);
    for (const double grad : {3.0, 4.0}) {
        params[0].value.mutable_grad() = at::full({1, 1}, grad);
        optimizer->step(0.5);
    }
    EXPECT_NEAR(params[0].value.item<double>(), 2 - 0.5 * 1 - 0.5 * 4.0 / 5, 1e-6);
    EXPECT_EQ(optimizer->state()[1].second.item<double>(), 25);
}

TEST(Optimizer, SettingsWithoutSenseAreNamed) {
    OptimPart part;
    part.beta2 = 1;
    EXPECT_THROW(make_optimizer(part, {}), UsageError);
    part.beta2 = 0.999;
    part.weight_decay = std::nan("");
    try {
        make_optimizer(part, {});
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_STREQ(error.what(),
                     "optim.weight_decay: expected a finite number from 0, found nan");
    }
}

}  // namespace
}  // namespace cait
