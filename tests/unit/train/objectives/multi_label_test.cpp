#include <gtest/gtest.h>

#include <cmath>

#include "cait/error.h"
#include "data/targets/labels.h"
#include "train/objectives/objective_table.h"
#include "unit/train/objectives/objective_run.h"

namespace cait {
namespace {

// -log sigmoid(x), which is what a present class of logit x costs; an absent one costs that of -x.
double cost(double x) { return std::log1p(std::exp(-x)); }

TEST(MultiLabelObjective, IsTheMeanOverImagesAndClasses) {
    const Recipe recipe = test::view_recipe("multi_label");
    const Model model = test::view_model(recipe);
    ProcessGroup group;
    const DataFacts data;
    const auto objective = make_objective({.recipe = recipe,
                                           .model = model,
                                           .data = data,
                                           .term = {},
                                           .group = group,
                                           .device = at::kCPU});
    EXPECT_EQ(objective->taps(), std::vector<std::string>{"logits"});
    at::Tensor logits = at::tensor({0.0F, 2.0F, -1.0F, 3.0F, 0.5F, -40.0F}).reshape({2, 3});
    logits.requires_grad_();
    const std::vector<TorchTensors> outputs{{{"logits", logits}}};
    const std::vector<SampleKey> keys(2);
    ObjectiveBatch batch;
    batch.views.push_back({});
    batch.keys = keys;
    batch.targets[kLabelSets] = at::tensor({1.0F, 0.0F, 0.25F, 0.0F, 1.0F, 1.0F}).reshape({2, 3});
    const LossResult result = objective->loss(outputs, batch, {});
    const double expected =
        (cost(0) + cost(-2) + 0.25 * cost(-1) + 0.75 * cost(1) + cost(-3) + cost(0.5) + cost(-40)) /
        6;
    EXPECT_NEAR(result.total.item<double>(), expected, 1e-6);
    EXPECT_FALSE(result.correct.defined());
    result.total.backward();
    EXPECT_NEAR(logits.grad()[0][0].item<double>(), (0.5 - 1) / 6, 1e-7);
    EXPECT_NEAR(logits.grad()[0][2].item<double>(), (1 / (1 + std::exp(1.0)) - 0.25) / 6, 1e-7);

    batch.targets.clear();
    EXPECT_THROW(objective->loss(outputs, batch, {}), Error);
}

}  // namespace
}  // namespace cait
