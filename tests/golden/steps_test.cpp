// Twenty steps of small models, as a run takes them, against the public optimisers, learning-rate
// schedule, clipping and weight average: every loss and norm, and what weights and averages are in
// the end.
// data/steps.json has the numbers, data/mix_token.json those of a VOLO that exchanges tokens.
#include <gtest/gtest.h>

#include <set>

#include "cait/train.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "models/catalogue.h"
#include "support/case_count.h"
#include "support/temporary_folder.h"
#include "train/objectives/labels.h"
#include "train/objectives/mix_token.h"
#include "train/optim/schedule.h"
#include "train/torch/convert.h"
#include "train/training_step.h"

namespace cait {
namespace {

using Json = nlohmann::json;

// What the official code draws and where it puts the box.
const Json& mix_token() {
    static const Json kFile = golden::read_json("mix_token.json");
    return kFile;
}

const Json& steps_file() {
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
    const std::map<std::string, ClassTarget> targets{
        {"map", ClassTarget::map}, {"blend", ClassTarget::blend}, {"label", ClassTarget::label}};
    r.loss.name = keys.at("loss.name");
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
    GoldenSteps()
        : case_(steps_file().at("cases").at(GetParam())), recipe_(recipe_of(case_["recipe"])) {
        SettingList settings{{"drop_path", "0"}};
        for (const auto& [key, value] : case_["set"].items()) settings.emplace_back(key, value);
        const Model fresh = Model::create(case_["model"], settings);
        std::map<std::string, Tensor> weights;
        for (const auto& [name, tensor] : fresh.weights())
            weights[name] = golden::pattern(name, tensor.shape());
        model_ = fresh.with_weights(std::move(weights));
    }

    // The box of a step, whose numbers the reference drew.
    GridBox box(std::size_t step, Grid grid) const {
        const Json& draw = case_.at("draws").at(step);
        return token_box(draw.at(0), grid, draw.at(1), draw.at(2));
    }

    Json case_;
    Recipe recipe_;
    Model model_;
};

// Where a map labels the tokens; as make_mix_token.py has it.
MapTargets map_labels(std::int64_t batch, std::int64_t tokens, std::int64_t classes) {
    const auto labels = [&](const std::string& name, const Shape& shape) {
        return at::softmax(4 * to_torch(golden::pattern(name, shape)), -1);
    };
    return {labels("token_targets", {batch, tokens, classes}),
            labels("map_targets", {batch, classes})};
}

// A network that answers these images with these logits: its head is solved for them.
Model teacher_of(const Tensor& images, const at::Tensor& logits) {
    const std::string size = std::to_string(images.shape()[2]);
    Model model =
        Model::create("deit_tiny_patch16_224", {{"image_size", size},
                                                {"patch", "8"},
                                                {"dim", "32"},
                                                {"depth", "1"},
                                                {"heads", "2"},
                                                {"classes", std::to_string(logits.size(1))}});
    std::map<std::string, Tensor> weights;
    for (const auto& [name, tensor] : model.weights())
        weights[name] = golden::pattern(name, tensor.shape());
    const at::Tensor features =
        to_torch(
            forward(model.with_weights(weights), images, {.taps = {"features"}}).at("features"))
            .to(at::kDouble);
    const at::Tensor solved =
        at::linalg_solve(features.mm(features.t()), logits.to(at::kDouble)).t().mm(features);
    weights["head.weight"] = from_torch(solved.to(at::kFloat));
    weights["head.bias"] = Tensor::zeros(DType::f32, {logits.size(1)});
    return model.with_weights(std::move(weights));
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

TEST(GoldenMixToken, NoCaseIsMissing) { EXPECT_EQ(steps_file()["cases"].size(), 12U); }

TEST_P(GoldenSteps, TwentyStepsGiveTheSameLossesWeightsAndAverages) {
    const CommonConfig& common = model_.spec().architecture->common();
    const auto labels = case_["labels"].get<std::vector<std::int64_t>>();
    const auto count = std::int64_t(labels.size());
    Batch batch;
    batch.size = labels.size();
    batch.targets[kLabels] = Tensor::of({count}, labels);
    batch.keys.resize(labels.size());
    batch.storage = golden::pattern(
        "input", {count, common.channels, common.image_size.height, common.image_size.width});

    const TemporaryFolder folder;
    if (recipe_.distill.kind != Distillation::none) {
        const at::Tensor wanted = 3 * to_torch(golden::pattern("teacher", {count, common.classes}));
        const Model teacher = teacher_of(batch.storage, wanted);
        const at::Tensor says = to_torch(forward(teacher, batch.storage).at("logits"));
        ASSERT_LT((says - wanted).abs().max().item<double>(), 1e-5);
        teacher.save(folder / "teacher.safetensors");
        recipe_.distill.teacher = (folder / "teacher.safetensors").string();
    }
    ProcessGroup group;
    TrainingStep step(recipe_, model_, group);
    const Grid grid = step.token_grid();
    LabelObjective::Given given;
    if (recipe_.augment.mix_tokens > 0)
        given.token_box = [&](std::uint64_t at) { return box(at, grid); };
    if (recipe_.loss.name == "token_label" && recipe_.loss.class_target != ClassTarget::label)
        given.token_labels = [&] { return map_labels(count, grid.count(), common.classes); };
    dynamic_cast<LabelObjective&>(step.objective()).take(given);

    const auto losses = case_["losses"].get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 20U);
    for (std::size_t i = 0; i < losses.size(); ++i) {
        const double lr = learning_rate(recipe_.schedule, scaled_lr(recipe_.optim, count),
                                        steps_file().at("steps_per_epoch"), std::int64_t(i));
        EXPECT_NEAR(lr, case_["rates"][i].get<double>(), 1e-12);
        const StepResult result = step.run(batch, i, lr);
        EXPECT_EQ(result.first_bad, "");
        EXPECT_NEAR(result.loss, losses[i], 1e-5) << "step " << i;
        const double norm = case_["norms"][i];
        EXPECT_NEAR(result.gradient_norm, norm, 1e-4 * norm) << "step " << i;
    }

    const TorchTensors weights = step.weights(), average = step.ema_weights();
    const auto unseen = case_["unseen"].get<std::set<std::string>>();
    std::size_t compared = 0;
    for (const auto& [name, expected] : case_["weights"].items()) {
        // The softmax ignores a common shift: rounding alone moves some biases.
        if (unseen.contains(name)) continue;
        expect_checksum(name, weights.at(name), expected, 1e-4);
        expect_checksum(name, average.at(name), case_["average"].at(name), 1e-4);
        ++compared;
    }
    EXPECT_EQ(compared + unseen.size(), weights.size());
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenSteps, testing::Range(std::size_t(0), steps_file()["cases"].size()),
    [](const auto& i) {
        return steps_file()["cases"][i.param]["name"].template get<std::string>();
    });

}  // namespace
}  // namespace cait
