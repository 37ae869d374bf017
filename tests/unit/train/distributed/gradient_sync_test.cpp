// Gradients of several processes: what one process would have computed from all their images.
#include "train/distributed/gradient_sync.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "graph/initialize.h"
#include "models/catalogue.h"
#include "support/processes.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

using test::ran_in_processes;

class GradientSyncTest : public test::ManyProcesses {};

// Three layers, 16 → 32 → 32 → 4.
struct Mlp {
    std::vector<at::Tensor> params;

    Mlp() {
        torch::manual_seed(7);
        std::int64_t width = 16;
        for (const std::int64_t next : {32, 32, 4}) {
            params.push_back((at::randn({next, width}) * 0.3).requires_grad_());
            params.push_back((at::randn({next}) * 0.1).requires_grad_());
            width = next;
        }
    }

    at::Tensor loss(const at::Tensor& inputs, const at::Tensor& labels) const {
        at::Tensor x = inputs;
        for (std::size_t i = 0; i < params.size(); i += 2) {
            x = at::linear(x, params[i], params[i + 1]);
            if (i + 2 < params.size()) x = at::gelu(x);
        }
        return at::cross_entropy_loss(x, labels);
    }
};

struct Data {
    at::Tensor inputs, labels;

    // Rows [part * rows, (part + 1) * rows)
    Data part(std::int64_t index, std::int64_t rows) const {
        return {inputs.narrow(0, index * rows, rows), labels.narrow(0, index * rows, rows)};
    }
};

Data mlp_data(std::int64_t rows) {
    torch::manual_seed(11);
    return {at::randn({rows, 16}), at::randint(4, {rows}, at::kLong)};
}

std::vector<at::Tensor> take_gradients(const std::vector<at::Tensor>& params) {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& param : params) {
        gradients.push_back(param.grad().defined() ? param.grad().clone() : at::Tensor());
        param.mutable_grad() = at::Tensor();
    }
    return gradients;
}

void expect_near(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].defined(), expected[i].defined()) << i;
        if (!found[i].defined()) continue;
        EXPECT_LE((found[i] - expected[i]).abs().max().item<double>(), 1e-6) << i;
    }
}

TEST_F(GradientSyncTest, GivesTheGradientOfTheJoinedBatch) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const Mlp mlp;
    const Data all = mlp_data(24);
    mlp.loss(all.inputs, all.labels).backward();
    const auto expected = take_gradients(mlp.params);

    const Data own = all.part(group.rank(), 12);
    std::vector<at::Tensor> first;
    for (const std::size_t bytes : {std::size_t(1), std::size_t(2000), std::size_t(4) << 20}) {
        GradientSync sync(mlp.params, group, {.bucket_bytes = bytes});
        EXPECT_EQ(sync.bucket_count(), bytes == 1 ? 6u : (bytes == 2000 ? 4u : 1u));
        for (int step = 0; step < 2; ++step) {
            mlp.loss(own.inputs, own.labels).backward();
            sync.finish();
            const auto found = take_gradients(mlp.params);
            expect_near(found, expected);
            if (step == 0) first = found;
            for (std::size_t i = 0; i < found.size(); ++i)
                EXPECT_TRUE(found[i].equal(first[i])) << "another step, other bits: " << i;
        }
    }
    mlp.loss(own.inputs, own.labels).backward();
    EXPECT_GT((mlp.params[0].grad() - expected[0]).abs().max().item<double>(), 1e-4)
        << "the hooks go with the object";
}

TEST_F(GradientSyncTest, GivesTheGradientOfTheJoinedBatchOfACaiT) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const ModelSpec spec = configure("cait_xxs24_224", {{"image_size", "16"},
                                                        {"patch", "4"},
                                                        {"dim", "32"},
                                                        {"depth", "2"},
                                                        {"heads", "2"},
                                                        {"class_layers", "1"},
                                                        {"classes", "5"}});
    const TorchExecutor executor(record(spec, {.mode = Mode::train, .drop_path = 0.0}));
    TorchTensors by_name;
    std::vector<at::Tensor> params;
    torch::manual_seed(3);
    for (const ParamSpec& param : executor.graph().params) {
        at::Tensor value =
            to_torch(initialize(param, 1)) + 0.1 * torch::randn(param.shape.extents());
        params.push_back(by_name[param.name] = value.detach().requires_grad_());
    }
    const Data all{at::randn({8, 3, 16, 16}), at::randint(5, {8}, at::kLong)};
    const auto backward = [&](const Data& data) {
        at::cross_entropy_loss(executor.run(data.inputs, by_name).at("logits"), data.labels)
            .backward();
    };
    backward(all);
    const auto expected = take_gradients(params);
    GradientSync sync(params, group, {.bucket_bytes = 40'000});
    EXPECT_GT(sync.bucket_count(), 2u);
    backward(all.part(group.rank(), 4));
    sync.finish();
    expect_near(take_gradients(params), expected);
}

TEST_F(GradientSyncTest, StartsWhileTheBackwardPassGoesOn) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const Mlp mlp;
    GradientSync sync(mlp.params, group, {.bucket_bytes = 1});
    // Autograd calls this when it has the gradient of the first layer's output: one layer to go.
    std::size_t started = 0;
    const Data own = mlp_data(24).part(group.rank(), 12);
    const at::Tensor first = at::linear(own.inputs, mlp.params[0], mlp.params[1]);
    first.register_hook([&](const at::Tensor&) { started = sync.started(); });
    at::Tensor x = at::linear(at::gelu(first), mlp.params[2], mlp.params[3]);
    x = at::linear(at::gelu(x), mlp.params[4], mlp.params[5]);
    at::cross_entropy_loss(x, own.labels).backward();
    EXPECT_GE(started, 3u);
    EXPECT_EQ(sync.started(), 6u);
    sync.finish();
    EXPECT_EQ(sync.started(), 0u);
}

TEST_F(GradientSyncTest, SendsOnlyTheLastPartOfAnAccumulatedBatch) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const Mlp mlp;
    const Data all = mlp_data(24);
    mlp.loss(all.inputs, all.labels).backward();
    const auto expected = take_gradients(mlp.params);
    GradientSync sync(mlp.params, group);
    const Data own = all.part(group.rank(), 12);
    for (int part = 0; part < 3; ++part) {
        sync.set_enabled(part == 2);
        const Data some = own.part(part, 4);
        (mlp.loss(some.inputs, some.labels) / 3).backward();
        EXPECT_EQ(sync.started(), part < 2 ? 0u : sync.bucket_count());
        sync.finish();
    }
    expect_near(take_gradients(mlp.params), expected);
}

TEST_F(GradientSyncTest, CountsAMissingGradientAsZeroAndLeavesTheUnusedAlone) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    std::vector<at::Tensor> params;
    for (int i = 0; i < 4; ++i) params.push_back(at::ones({2, 3}).requires_grad_());
    for (const std::size_t bytes : {std::size_t(1), std::size_t(4) << 20}) {
        GradientSync sync(params, group, {.bucket_bytes = bytes});
        // Rank 0 uses 0 and 1, rank 1 uses 1 and 2, nobody uses 3.
        (params[std::size_t(group.rank())].sum() * 2 + params[std::size_t(group.rank()) + 1].sum())
            .backward();
        sync.finish();
        EXPECT_TRUE(params[0].grad().equal(at::full({2, 3}, 1.0)));  // (2 + 0) / 2
        EXPECT_TRUE(params[1].grad().equal(at::full({2, 3}, 1.5)));  // (1 + 2) / 2
        EXPECT_TRUE(params[2].grad().equal(at::full({2, 3}, 0.5)));  // (0 + 1) / 2
        EXPECT_FALSE(params[3].grad().defined());
        take_gradients(params);
    }
}

TEST_F(GradientSyncTest, HandlesShortAndDoubleTypesAndStrides) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    std::vector<at::Tensor> params = {at::ones({3}).requires_grad_(),
                                      at::ones({3}, at::kDouble).requires_grad_(),
                                      at::ones({3}, at::kBFloat16).requires_grad_(),
                                      at::ones({2, 3}).t().detach().requires_grad_()};
    GradientSync sync(params, group);
    at::Tensor sum = at::zeros({});
    const at::Tensor weights = at::arange(6, at::kFloat).view({3, 2}) + group.rank();
    for (const at::Tensor& param : params)
        sum = sum + (param.dim() == 2 ? (param * weights).sum()
                                      : (param * (1.0 + group.rank())).sum().to(at::kFloat));
    sum.backward();
    sync.finish();
    for (int i = 0; i < 3; ++i) {
        const at::Tensor& gradient = params[std::size_t(i)].grad();
        EXPECT_TRUE(gradient.equal(at::full({3}, 1.5, gradient.scalar_type()))) << i;
    }
    EXPECT_TRUE(params[3].grad().equal(at::arange(6, at::kFloat).view({3, 2}) + 0.5));
}

TEST_F(GradientSyncTest, RefusesASecondBackwardPassWithoutFinish) {
    if (ran_in_processes(2)) return;
    ProcessGroup group(world_from_environment());
    const Mlp mlp;
    const Data data = mlp_data(4);
    GradientSync sync(mlp.params, group);
    mlp.loss(data.inputs, data.labels).backward();
    EXPECT_THROW(mlp.loss(data.inputs, data.labels).backward(), Error);
    sync.finish();
    EXPECT_THROW(GradientSync({at::ones({1})}, group), Error);
}

TEST(GradientSyncAlone, LeavesGradientsAsTheyAre) {
    ProcessGroup group;
    const Mlp mlp;
    const Data data = mlp_data(4);
    mlp.loss(data.inputs, data.labels).backward();
    const auto expected = take_gradients(mlp.params);
    GradientSync sync(mlp.params, group);
    EXPECT_EQ(sync.bucket_count(), 0u);
    mlp.loss(data.inputs, data.labels).backward();
    sync.finish();
    const auto found = take_gradients(mlp.params);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(found[i].equal(expected[i]));
}

}  // namespace
}  // namespace cait
