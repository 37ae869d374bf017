// Twenty optimiser steps of small models against the public optimisers, learning-rate schedule,
// clipping and weight average: every loss, and what weights and averages are in the end.
// data/steps.json has the numbers, data/mix_token.json those of a VOLO that exchanges tokens.
#include <gtest/gtest.h>

#include <set>

#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "models/catalogue.h"
#include "support/case_count.h"
#include "torch/convert.h"
#include "train/losses.h"
#include "train/mix_token.h"
#include "train/optim/clip.h"
#include "train/optim/ema.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

namespace cait {
namespace {

using Json = nlohmann::json;

// What the official code draws and where it puts the box.
const Json& mix_token() {
    static const Json kFile = golden::read_json("mix_token.json");
    return kFile;
}

const Json& file() {
    static const Json kFile = [] {
        Json all = golden::read_json("steps.json");
        for (const Json& one : mix_token().at("cases")) all["cases"].push_back(one);
        return all;
    }();
    return kFile;
}

Recipe recipe_of(const Json& keys) {
    Recipe r;
    const std::map<std::string, OptimizerKind> optimizers{{"adamw", OptimizerKind::adamw},
                                                          {"lamb", OptimizerKind::lamb},
                                                          {"sgd", OptimizerKind::sgd}};
    const std::map<std::string, Distillation> distillations{
        {"none", Distillation::none}, {"soft", Distillation::soft}, {"hard", Distillation::hard}};
    r.optim.name = optimizers.at(keys.at("optim.name"));
    r.optim.lr = keys.at("optim.lr");
    r.optim.lr_batch = 0;
    r.optim.weight_decay = keys.at("optim.weight_decay");
    r.optim.decay_rule =
        keys.at("optim.decay_rule") == "timm" ? DecayRule::timm : DecayRule::facebook;
    r.optim.beta1 = keys.at("optim.beta1");
    r.optim.beta2 = keys.at("optim.beta2");
    r.optim.epsilon = keys.at("optim.epsilon");
    r.optim.momentum = keys.at("optim.momentum");
    r.optim.layer_decay = keys.at("optim.layer_decay");
    r.optim.clip = ClipKind::norm;
    r.optim.clip_at = keys.at("optim.clip_at");
    r.schedule.epochs = keys.at("schedule.epochs");
    r.schedule.warmup = keys.at("schedule.warmup");
    r.schedule.warmup_lr = keys.at("schedule.warmup_lr");
    r.schedule.min_lr = keys.at("schedule.min_lr");
    r.train.ema = keys.at("train.ema");
    const std::map<std::string, LossKind> losses{{"cross_entropy", LossKind::cross_entropy},
                                                 {"bce", LossKind::bce},
                                                 {"token_label", LossKind::token_label}};
    const std::map<std::string, ClassTarget> targets{
        {"map", ClassTarget::map}, {"blend", ClassTarget::blend}, {"label", ClassTarget::label}};
    r.loss.name = losses.at(keys.at("loss.name"));
    r.loss.token_weight = keys.value("loss.token_weight", 0.5);
    r.loss.class_target = targets.at(keys.value("loss.class_target", "map"));
    r.augment.mix_tokens = keys.value("augment.mix_tokens", 0.0);
    r.loss.smoothing = keys.at("loss.smoothing");
    r.distill.kind = distillations.at(keys.at("distill.kind"));
    r.distill.alpha = keys.at("distill.alpha");
    r.distill.temperature = keys.at("distill.temperature");
    return r;
}

// As make_steps.py has it: a weighted sum and the norm.
void expect_checksum(const std::string& name, const at::Tensor& tensor, const Json& expected,
                     double tolerance) {
    const at::Tensor values = tensor.detach().to(at::kDouble).flatten();
    at::Tensor probe = at::empty({values.numel()}, at::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i)
        probe.data_ptr<double>()[i] = golden::uniform(golden::hash_of("probe." + name), i);
    const double norm = expected.at(1);
    const double most = tolerance * std::max(norm, 1.0);
    EXPECT_NEAR((values * probe).sum().item<double>(), expected.at(0).get<double>(), most) << name;
    EXPECT_NEAR(values.norm().item<double>(), norm, most) << name;
}

class GoldenSteps : public testing::TestWithParam<std::size_t> {
protected:
    GoldenSteps() : case_(file().at("cases").at(GetParam())), recipe_(recipe_of(case_["recipe"])) {
        SettingList settings;
        for (const auto& [key, value] : case_["set"].items()) settings.emplace_back(key, value);
        spec_ = configure(case_["model"], settings);
    }

    // The box of a step, whose numbers the reference drew.
    GridBox box(std::size_t step, Grid grid) const {
        if (recipe_.augment.mix_tokens == 0) return {};
        const Json& draw = case_.at("draws").at(step);
        return token_box(draw.at(0), grid, draw.at(1), draw.at(2));
    }

    Json case_;
    Recipe recipe_;
    ModelSpec spec_;
};

// Where a map labels the tokens; as make_mix_token.py has it.
void label_tokens(LossInput& input, std::int64_t batch, std::int64_t tokens, std::int64_t classes) {
    const auto labels = [&](const std::string& name, const Shape& shape) {
        return at::softmax(4 * to_torch(golden::pattern(name, shape)), -1);
    };
    input.map_targets = labels("map_targets", {batch, classes});
    input.token_targets = labels("token_targets", {batch, tokens, classes});
}

TEST(GoldenMixToken, BoxesAreThoseOfTheOfficialCode) {
    std::size_t filled = 0;
    test::CaseCount count(200);
    for (const Json& row : mix_token().at("boxes")) {
        ++count;
        const GridBox found = token_box(row[0], {row[1], row[2]}, row[3], row[4]);
        const GridBox expected{row[5], row[6], row[7], row[8]};
        EXPECT_EQ(found, expected) << row;
        filled += std::size_t(found.count() > 0);
    }
    EXPECT_EQ(filled, 170U);  // of 200: small ones are empty there, too
}

TEST_P(GoldenSteps, TwentyStepsGiveTheSameLossesWeightsAndAverages) {
    const Loss loss(recipe_.loss, recipe_.distill, spec_);
    const TorchExecutor executor(record(spec_, {.mode = Mode::train,
                                                .drop_path = 0.0,
                                                .mix_tokens = recipe_.augment.mix_tokens > 0,
                                                .taps = loss.taps()}));
    std::map<std::string, Tensor> weights;
    for (const ParamSpec& param : executor.graph().params)
        weights[param.name] = golden::pattern(param.name, param.shape);
    const std::vector<TrainParam> params = make_parameters(executor.graph(), weights, recipe_);
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(recipe_.optim, params);
    Ema ema(recipe_.train.ema, false, params);

    const CommonConfig& common = spec_.architecture->common();
    const auto labels = case_["labels"].get<std::vector<std::int64_t>>();
    const auto batch = std::int64_t(labels.size());
    const at::Tensor images = to_torch(golden::pattern(
        "input", {batch, common.channels, common.image_size.height, common.image_size.width}));
    LossInput input;
    input.labels = torch::tensor(labels);
    input.teacher = 3 * to_torch(golden::pattern("teacher", {batch, common.classes}));

    const Grid grid = executor.graph().patch_grid;
    const bool mapped = recipe_.loss.name == LossKind::token_label &&
                        recipe_.loss.class_target != ClassTarget::label;
    if (mapped) label_tokens(input, batch, grid.count(), common.classes);

    const auto losses = case_["losses"].get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 20U);
    for (std::size_t step = 0; step < losses.size(); ++step) {
        const double lr = learning_rate(recipe_.schedule, scaled_lr(recipe_.optim, batch),
                                        file().at("steps_per_epoch"), std::int64_t(step));
        EXPECT_NEAR(lr, case_["rates"][step].get<double>(), 1e-12);
        optimizer->zero_grad();
        EvaluateContext context;
        context.token_box = box(step, grid);
        input.exchanged = exchanged_share(context.token_box, grid);
        input.take(executor.run(images, tensors_of(params), context));
        const LossResult result = loss(input);
        EXPECT_NEAR(result.total.item<double>(), losses[step], 1e-5) << "step " << step;
        result.total.backward();
        const GradientCheck check = clip_gradients(params, recipe_.optim);
        EXPECT_TRUE(check.finite());
        const double norm = case_["norms"][step];
        EXPECT_NEAR(check.norm, norm, 1e-4 * norm) << "step " << step;
        optimizer->step(lr);
        ema.update(params);
    }

    const TorchTensors average = ema.tensors();
    const auto unseen = case_["unseen"].get<std::set<std::string>>();
    std::size_t compared = 0;
    for (const TrainParam& param : params) {
        // The softmax ignores a common shift: rounding alone moves some biases.
        if (unseen.contains(param.name)) continue;
        expect_checksum(param.name, param.value, case_["weights"].at(param.name), 1e-4);
        expect_checksum(param.name, average.at(param.name), case_["average"].at(param.name), 1e-4);
        ++compared;
    }
    EXPECT_EQ(compared + unseen.size(), case_["weights"].size());
}

INSTANTIATE_TEST_SUITE_P(All, GoldenSteps, testing::Range(std::size_t(0), file()["cases"].size()),
                         [](const auto& i) {
                             return file()["cases"][i.param]["name"].template get<std::string>();
                         });

}  // namespace
}  // namespace cait
