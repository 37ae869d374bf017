// What golden/losses_test.cpp cannot say: outputs that are asked for, refusals, number formats.
#include "train/objectives/label_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Given {
    TorchTensors outputs;
    LabelTargets targets;
};

ModelSpec cait_model() { return configure("cait_xxs24_224", {{"classes", "3"}}); }
ModelSpec deit_model() { return configure("deit_tiny_distilled_patch16_224", {{"classes", "3"}}); }
ModelSpec volo_model() { return configure("volo_d1_224", {{"classes", "3"}}); }

template <class Function>
std::string losses_refusal(const Function& function) {
    try {
        function();
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Losses, AskForTheOutputsThatTheyNeed) {
    DistillPart distill;
    EXPECT_THAT(LabelLoss({}, distill, cait_model()).taps(), ElementsAre("logits"));
    EXPECT_THAT(LabelLoss({}, distill, deit_model()).taps(), ElementsAre("logits", "logits_class"));
    distill.kind = Distillation::hard;
    EXPECT_THAT(LabelLoss({}, distill, cait_model()).taps(), ElementsAre("logits"));
    EXPECT_THAT(LabelLoss({}, distill, deit_model()).taps(),
                ElementsAre("logits", "logits_class", "logits_dist"));
    LossPart tokens;
    tokens.name = "token_label";
    const LabelLoss loss(tokens, {}, volo_model());
    EXPECT_THAT(loss.taps(), ElementsAre("logits", "logits_class", "logits_aux"));
    EXPECT_NO_THROW(record(volo_model(), {.mode = Mode::train, .taps = loss.taps()}));
    EXPECT_THAT(losses_refusal([&] { LabelLoss(tokens, {}, cait_model()); }),
                HasSubstr("token labels need a head on every token"));
}

// The official code fine-tunes in evaluation mode: both heads of a DeiT answer together.
TEST(Losses, OfANetworkInEvaluationModeSeeItsJointLogits) {
    DistillPart distill;
    EXPECT_THAT(LabelLoss({}, distill, deit_model(), {}, Mode::infer).taps(),
                ElementsAre("logits"));
    EXPECT_THAT(LabelLoss({}, distill, volo_model(), {}, Mode::infer).taps(),
                ElementsAre("logits"));
    distill.kind = Distillation::hard;
    EXPECT_THAT(LabelLoss({}, distill, deit_model(), {}, Mode::infer).taps(),
                ElementsAre("logits", "logits_class", "logits_dist"));
}

Given token_input() {
    torch::manual_seed(5);
    Given input;
    input.outputs["logits"] = at::randn({2, 3});
    input.outputs["logits_aux"] = at::randn({2, 4, 3});
    input.targets.labels = at::tensor({0, 2}, at::kLong);
    input.targets.tokens = at::softmax(at::randn({2, 4, 3}), -1);
    input.targets.maps = at::tensor({0.7F, 0.2F, 0.1F, 0.1F, 0.8F, 0.1F}).reshape({2, 3});
    return input;
}

TEST(Losses, TheClassHeadLearnsWhatTheMapSaysUnlessToldOtherwise) {
    LossPart part;
    part.name = "token_label";
    Given input = token_input();
    const at::Tensor truth = at::one_hot(input.targets.labels, 3).to(at::kFloat);
    const auto labels = [&](ClassTarget target) {
        part.class_target = target;
        return LabelLoss(part, {}, volo_model())(input.outputs, input.targets).parts.at("labels");
    };
    const auto expected = [&](const at::Tensor& targets) {
        return -(targets * at::log_softmax(input.outputs["logits"], -1)).sum(-1).mean();
    };
    EXPECT_TRUE(at::allclose(labels(ClassTarget::map), expected(input.targets.maps)));
    EXPECT_TRUE(at::allclose(labels(ClassTarget::label), expected(truth)));
    // The map agrees with the first label only.
    const at::Tensor share = at::tensor({0.5F, 0.9F}).reshape({2, 1});
    EXPECT_TRUE(at::allclose(labels(ClassTarget::blend),
                             expected(share * input.targets.maps + (1 - share) * truth)));
}

TEST(Losses, ExchangedTokensMixTheClassTargetAlone) {
    LossPart part;
    part.name = "token_label";
    Given input = token_input();
    const LossResult whole = LabelLoss(part, {}, volo_model())(input.outputs, input.targets);
    input.targets.exchanged = 0.25;
    const LossResult mixed = LabelLoss(part, {}, volo_model())(input.outputs, input.targets);
    EXPECT_TRUE(at::equal(mixed.parts.at("tokens"), whole.parts.at("tokens")));
    const at::Tensor targets = 0.75 * input.targets.maps + 0.25 * input.targets.maps.flip(0);
    EXPECT_TRUE(
        at::allclose(mixed.parts.at("labels"),
                     -(targets * at::log_softmax(input.outputs["logits"], -1)).sum(-1).mean()));
    // Plain labels, too: each image is three quarters its own.
    input.targets.maps = at::Tensor();
    const at::Tensor truth = at::one_hot(input.targets.labels, 3).to(at::kFloat);
    EXPECT_TRUE(at::allclose(
        LabelLoss(part, {}, volo_model())(input.outputs, input.targets).parts.at("labels"),
        -((0.75 * truth + 0.25 * truth.flip(0)) * at::log_softmax(input.outputs["logits"], -1))
             .sum(-1)
             .mean()));
}

// Equation 3.2 of the thesis has no division by the classes.
TEST(Losses, SoftDistillationIsDividedAsToldTo) {
    DistillPart distill;
    distill.kind = Distillation::soft;
    distill.temperature = 2;
    Given input;
    torch::manual_seed(6);
    input.outputs["logits"] = at::randn({4, 3});
    input.targets.labels = at::zeros({4}, at::kLong);
    input.targets.teacher = at::randn({4, 3});
    const at::Tensor by_code =
        LabelLoss({}, distill, cait_model())(input.outputs, input.targets).parts.at("distill");
    distill.soft_mean = SoftMean::images;
    const at::Tensor by_formula =
        LabelLoss({}, distill, cait_model())(input.outputs, input.targets).parts.at("distill");
    EXPECT_TRUE(at::allclose(by_formula, 3 * by_code));
    const at::Tensor teacher = at::softmax(input.targets.teacher / 2, 1);
    EXPECT_TRUE(at::allclose(
        by_formula,
        4 * (teacher * (teacher.log() - at::log_softmax(input.outputs["logits"] / 2, 1)))
                .sum(1)
                .mean()));
}

TEST(Losses, SmoothingThatPutsEveryTargetAboveTheThresholdIsRefused) {
    LossPart part;
    part.name = "bce";
    part.smoothing = 0.1;
    EXPECT_THAT(losses_refusal([&] { LabelLoss(part, {}, cait_model()); }),
                HasSubstr("puts every target above loss.bce_threshold 0"));
    part.bce_threshold = 0.2;
    EXPECT_NO_THROW(LabelLoss(part, {}, cait_model()));
    part.bce_threshold = -1;
    EXPECT_NO_THROW(LabelLoss(part, {}, cait_model()));
}

TEST(Losses, ContradictionsAreRefused) {
    LossPart part;
    part.cosub = true;
    DistillPart distill;
    distill.kind = Distillation::soft;
    EXPECT_THAT(losses_refusal([&] { LabelLoss(part, distill, cait_model()); }),
                HasSubstr("loss.cosub"));
    distill.alpha = 1.5;
    EXPECT_THAT(losses_refusal([&] { LabelLoss({}, distill, cait_model()); }),
                HasSubstr("distill.alpha: expected a number from 0 to 1, found 1.5"));
}

TEST(Losses, TensorsThatAreMissingOrDoNotFitAreNamed) {
    DistillPart distill;
    distill.kind = Distillation::hard;
    Given input;
    EXPECT_THAT(
        losses_refusal([&] { LabelLoss({}, {}, cait_model())(input.outputs, input.targets); }),
        HasSubstr("[loss] logits: expected some, found none"));
    input.outputs["logits"] = at::zeros({2, 3});
    EXPECT_THAT(
        losses_refusal([&] { LabelLoss({}, {}, cait_model())(input.outputs, input.targets); }),
        HasSubstr("[loss] labels: expected [2], found none"));
    input.targets.labels = at::zeros({2}, at::kLong);
    EXPECT_THAT(
        losses_refusal([&] { LabelLoss({}, distill, cait_model())(input.outputs, input.targets); }),
        HasSubstr("[loss] teacher: expected [2, 3], found none"));
    input.targets.mixed = at::zeros({2, 4});
    EXPECT_THAT(
        losses_refusal([&] { LabelLoss({}, {}, cait_model())(input.outputs, input.targets); }),
        HasSubstr("[loss] targets: expected [2, 3], found [2, 4]"));
}

TEST(Losses, CountHitsAndNameTheirParts) {
    DistillPart distill;
    distill.kind = Distillation::hard;
    Given input;
    input.outputs["logits"] = at::tensor({2.0F, 0.0F, 0.0F, 0.0F, 0.0F, 1.0F}).reshape({2, 3});
    input.targets.labels = at::tensor({0, 1}, at::kLong);
    input.targets.teacher = at::tensor({0.0F, 5.0F, 0.0F, 0.0F, 0.0F, 5.0F}).reshape({2, 3});
    const LossResult result = LabelLoss({}, distill, cait_model())(input.outputs, input.targets);
    EXPECT_EQ(result.correct.item<std::int64_t>(), 1);
    EXPECT_NEAR(result.total.item<double>(),
                0.5 * (result.parts.at("labels") + result.parts.at("distill")).item<double>(),
                1e-6);
}

TEST(Losses, ClassHeadStandsForTheLogitsWhereThereIsOne) {
    Given input;
    input.outputs = {{"logits", at::full({1, 3}, 7.0)},
                     {"logits_class", at::tensor({9.0F, 0.0F, 0.0F}).reshape({1, 3})}};
    input.targets.labels = at::zeros({1}, at::kLong);
    EXPECT_LT(LabelLoss({}, {}, deit_model())(input.outputs, input.targets).total.item<double>(),
              0.01);
}

// Thesis, section 3.3: "an additional class token associated with the same target label".
TEST(Losses, ASecondClassTokenLearnsFromTheSameLabels) {
    const ModelSpec model =
        configure("deit_tiny_patch16_224", {{"classes", "3"}, {"class_tokens", "2"}});
    const LabelLoss loss({}, {}, model);
    EXPECT_THAT(loss.taps(), ElementsAre("logits", "logits_class", "logits_second"));
    Given input;
    input.outputs["logits"] = input.outputs["logits_class"] =
        at::tensor({2.0F, 0.0F, -1.0F}).reshape({1, 3});
    input.outputs["logits_second"] = at::tensor({0.0F, 1.0F, 0.5F}).reshape({1, 3});
    input.targets.labels = at::zeros({1}, at::kLong);
    const auto entropy = [&](const at::Tensor& logits) {
        return at::cross_entropy_loss(logits, input.targets.labels).item<float>();
    };
    EXPECT_NEAR(
        loss(input.outputs, input.targets).total.item<float>(),
        (entropy(input.outputs["logits_class"]) + entropy(input.outputs["logits_second"])) / 2,
        1e-6);
    LossPart twins;
    twins.cosub = true;
    EXPECT_THAT(losses_refusal([&] { LabelLoss(twins, {}, model); }),
                HasSubstr("loss.cosub: expected a model"));
}

TEST(Losses, CosubTakesLabelsOnceOrTwice) {
    LossPart part;
    part.cosub = true;
    const LabelLoss loss(part, {}, cait_model());
    Given input;
    torch::manual_seed(1);
    input.outputs["logits"] = at::randn({4, 3});
    input.targets.labels = at::tensor({0, 2}, at::kLong);
    const LossResult once = loss(input.outputs, input.targets);
    input.targets.labels = at::tensor({0, 2, 0, 2}, at::kLong);
    const LossResult twice = loss(input.outputs, input.targets);
    EXPECT_EQ(once.total.item<float>(), twice.total.item<float>());
    EXPECT_TRUE(at::equal(once.correct, twice.correct));
    input.outputs["logits"] = at::randn({3, 3});
    EXPECT_THAT(losses_refusal([&] { loss(input.outputs, input.targets); }),
                HasSubstr("an even number of rows, found 3"));
}

TEST(Losses, AreComputedInFloat32) {
    Given input;
    torch::manual_seed(1);
    const at::Tensor logits = at::randn({8, 3}).to(at::kBFloat16);
    input.outputs["logits"] = logits;
    input.targets.labels = at::zeros({8}, at::kLong);
    const at::Tensor narrow = LabelLoss({}, {}, cait_model())(input.outputs, input.targets).total;
    input.outputs["logits"] = logits.to(at::kFloat);
    EXPECT_EQ(narrow.scalar_type(), at::kFloat);
    EXPECT_EQ(narrow.item<float>(),
              LabelLoss({}, {}, cait_model())(input.outputs, input.targets).total.item<float>());
}

}  // namespace
}  // namespace cait
