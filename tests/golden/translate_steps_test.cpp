// Translators against plain PyTorch: every gradient at the start, and twenty steps of Adagrad (the
// thesis' ResMLP) and of AdamW (the Transformer). make_translate_steps.py has made the numbers.
#include <gtest/gtest.h>

#include <fstream>

#include "base/piece_ids.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "models/catalogue.h"
#include "train/recipe/recipe_keys.h"
#include "train/torch/convert.h"
#include "train/training_step.h"

namespace cait {
namespace {

using TranslateJson = nlohmann::json;

const TranslateJson& translate_steps() {
    static const TranslateJson kFile =
        TranslateJson::parse(std::ifstream(golden::folder() / "translate_steps.json"));
    return kFile;
}

// A row for each sentence, of the file's length.
Tensor padded_rows(const std::vector<std::vector<std::int64_t>>& rows) {
    const std::int64_t length = translate_steps()["length"];
    std::vector<std::int64_t> pieces;
    for (std::vector<std::int64_t> row : rows) {
        row.resize(std::size_t(length), kPad);
        pieces.insert(pieces.end(), row.begin(), row.end());
    }
    return Tensor::of({std::int64_t(rows.size()), length}, pieces);
}

Batch translate_batch() {
    std::vector<std::vector<std::int64_t>> sources = translate_steps()["sources"];
    std::vector<std::vector<std::int64_t>> given = translate_steps()["targets"], expected = given;
    Batch batch;
    batch.size = sources.size();
    for (std::size_t i = 0; i < batch.size; ++i) {
        sources[i].push_back(kEnd);
        given[i].insert(given[i].begin(), kEnd);
        expected[i].push_back(kEnd);
        batch.keys.push_back({.sample = i});
    }
    const Tensor source = padded_rows(sources);
    std::vector<float> mask;
    for (const std::int64_t piece : source.integers()) mask.push_back(piece == kPad ? 0 : 1);
    batch.inputs = {{"source", source},
                    {"source_mask", Tensor::of(source.shape(), mask)},
                    {"target", padded_rows(given)}};
    batch.targets["expected"] = padded_rows(expected);
    return batch;
}

// A weighted sum and the norm.
void expect_sums(const std::string& name, const at::Tensor& tensor, const TranslateJson& expected,
                 double tolerance) {
    const at::Tensor values = tensor.detach().to(at::kDouble).flatten();
    at::Tensor probe = at::empty({values.numel()}, at::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i)
        probe.data_ptr<double>()[i] =
            golden::uniform(golden::hash_of("probe." + name), std::uint64_t(i));
    const double most = tolerance * std::max(expected.at(1).get<double>(), 1.0);
    EXPECT_NEAR((values * probe).sum().item<double>(), expected.at(0).get<double>(), most) << name;
    EXPECT_NEAR(values.norm().item<double>(), expected.at(1).get<double>(), most) << name;
}

class GoldenTranslateSteps : public testing::TestWithParam<std::size_t> {
protected:
    GoldenTranslateSteps() : case_(translate_steps()["cases"][GetParam()]) {
        recipe_.model.name = case_["model"];
        recipe_.loss.name = "translate";
        recipe_.loss.smoothing = case_["smoothing"];
        recipe_.optim.weight_decay = 0;
        for (const auto& [key, value] : case_["recipe"].items())
            set_recipe_value(recipe_, key,
                             value.is_string() ? value.get<std::string>() : value.dump());
        SettingList settings{{"dropout", "0"}};
        for (const auto& [key, value] : case_["set"].items()) settings.emplace_back(key, value);
        model_ = Model::create(recipe_.model.name, settings);
        std::map<std::string, Tensor> weights;
        for (const auto& [name, tensor] : model_.weights())
            weights[name] = golden::pattern(name, tensor.shape());
        model_ = model_.with_weights(std::move(weights));
        step_ = std::make_unique<TrainingStep>(recipe_, model_, group_, DataFacts{.targets = {}});
    }

    TranslateJson case_;
    Recipe recipe_;
    Model model_;
    ProcessGroup group_;
    std::unique_ptr<TrainingStep> step_;
};

TEST_P(GoldenTranslateSteps, EveryGradientAgrees) {
    Batch batch = translate_batch();
    step_->run(batch, 0, 0);  // a rate of 0: the gradients stay to be looked at
    std::size_t compared = 0;
    for (const auto& [name, param] : step_->weights()) {
        SCOPED_TRACE(name);
        ASSERT_TRUE(param.grad().defined());
        expect_sums(name, param.grad(), case_["gradients"].at(name), 1e-4);
        ++compared;
    }
    EXPECT_EQ(compared, case_["gradients"].size());
}

TEST_P(GoldenTranslateSteps, TwentyStepsGiveTheSameLossesAndWeights) {
    const auto losses = case_["losses"].get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 20U);
    for (std::size_t i = 0; i < losses.size(); ++i) {
        Batch batch = translate_batch();
        const StepResult result = step_->run(batch, i, recipe_.optim.lr);
        EXPECT_EQ(result.first_bad, "");
        EXPECT_NEAR(result.loss, losses[i], 1e-4) << "step " << i;
    }
    for (const auto& [name, tensor] : step_->weights())
        // The softmax ignores a common shift: rounding alone moves these.
        if (!name.ends_with("k_proj.bias"))
            expect_sums(name, tensor, case_["weights"].at(name), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenTranslateSteps, testing::Range(std::size_t(0), std::size_t(2)), [](const auto& i) {
        return translate_steps()["cases"][i.param]["name"].template get<std::string>();
    });

TEST(GoldenTranslateStepsFile, HasBothCases) { EXPECT_EQ(translate_steps()["cases"].size(), 2U); }

}  // namespace
}  // namespace cait
