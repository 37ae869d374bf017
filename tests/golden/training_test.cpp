// One small model of each family against the public reference in training: every gradient, running
// statistics of batch norms, and ten SGD steps. data/FAMILY_training.safetensors has the numbers.
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include <filesystem>

#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"
#include "weights/weight_file.h"

namespace cait {
namespace {

std::vector<std::string> training_files() {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(golden::folder()))
        if (file.path().filename().string().ends_with("_training.safetensors"))
            names.push_back(file.path().stem().string());
    std::ranges::sort(names);
    return names;
}

class GoldenTraining : public testing::TestWithParam<std::string> {
protected:
    GoldenTraining() {
        const WeightFile file = open_weights(golden::folder() / (GetParam() + ".safetensors"));
        for (const NamedTensor& entry : file.tensors) expected_[entry.name] = entry.tensor;
        case_ = nlohmann::json::parse(file.metadata.at("case"));
        SettingList settings;
        for (const auto& [key, value] : case_["set"].items()) settings.emplace_back(key, value);
        const ModelSpec spec = configure(case_["model"], settings);
        executor_ =
            std::make_unique<TorchExecutor>(record(spec, {.mode = Mode::train, .drop_path = 0.0}));

        const CommonConfig& common = spec.architecture->common();
        const auto labels = case_["labels"].get<std::vector<std::int64_t>>();
        labels_ = torch::tensor(labels);
        images_ =
            to_torch(golden::pattern("input", {std::int64_t(labels.size()), common.channels,
                                               common.image_size.height, common.image_size.width}));
        for (const ParamSpec& param : executor_->graph().params)
            params_[param.name] = to_torch(golden::pattern(param.name, param.shape))
                                      .clone()
                                      .requires_grad_(param.trainable);
    }

    at::Tensor loss() {
        const TorchTensors outputs = executor_->run(images_, params_);
        return torch::nn::functional::cross_entropy(outputs.at("logits"), labels_);
    }

    std::map<std::string, Tensor> expected_;
    nlohmann::json case_;
    std::unique_ptr<TorchExecutor> executor_;
    at::Tensor images_, labels_;
    TorchTensors params_;
};

TEST_P(GoldenTraining, EveryGradientAndRunningStatisticAgrees) {
    loss().backward();
    std::size_t compared = 0;
    for (const auto& [name, param] : params_) {
        const bool trained = param.requires_grad();
        const Tensor& expected = expected_.at((trained ? "grad." : "after.") + name);
        const double spread = test::deviation(expected.floats());
        // The softmax ignores a common shift: some biases have no gradient but rounding.
        test::expect_within(from_torch(trained ? param.grad() : param), expected,
                            std::max(1e-4 * spread, 1e-6), name);
        ++compared;
    }
    EXPECT_EQ(compared + 1, expected_.size());  // the losses are the one other entry
}

TEST_P(GoldenTraining, TenStepsOfSgdGiveTheSameLosses) {
    const std::span<const float> losses = expected_.at("losses").floats();
    const double rate = case_["learning_rate"];
    ASSERT_EQ(losses.size(), 10U);
    for (const float expected : losses) {
        const at::Tensor now = loss();
        EXPECT_NEAR(now.item<float>(), expected, 1e-4 * std::max(1.0F, expected));
        now.backward();
        const at::NoGradGuard no_gradients;
        for (auto& [name, param] : params_) {
            if (!param.requires_grad()) continue;
            param -= rate * param.grad();
            param.mutable_grad() = at::Tensor();
        }
    }
}

TEST(GoldenTrainingFiles, NoneIsMissing) { EXPECT_EQ(training_files().size(), 14U); }

INSTANTIATE_TEST_SUITE_P(All, GoldenTraining, testing::ValuesIn(training_files()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace cait
