// What golden/losses_test.cpp cannot say: outputs that are asked for, refusals, number formats.
#include "train/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
    EXPECT_THAT(Loss({}, distill, cait_model()).taps(), ElementsAre("logits"));
    EXPECT_THAT(Loss({}, distill, deit_model()).taps(), ElementsAre("logits", "logits_class"));
    distill.kind = Distillation::hard;
    EXPECT_THAT(Loss({}, distill, cait_model()).taps(), ElementsAre("logits"));
    EXPECT_THAT(Loss({}, distill, deit_model()).taps(),
                ElementsAre("logits", "logits_class", "logits_dist"));
    LossPart tokens;
    tokens.name = LossKind::token_label;
    const Loss loss(tokens, {}, volo_model());
    EXPECT_THAT(loss.taps(), ElementsAre("logits", "logits_class", "logits_aux"));
    EXPECT_NO_THROW(record(volo_model(), {.mode = Mode::train, .taps = loss.taps()}));
    EXPECT_THAT(losses_refusal([&] { Loss(tokens, {}, cait_model()); }),
                HasSubstr("token labels need a head on every token"));
}

// The official code fine-tunes in evaluation mode: both heads of a DeiT answer together.
TEST(Losses, OfANetworkInEvaluationModeSeeItsJointLogits) {
    DistillPart distill;
    EXPECT_THAT(Loss({}, distill, deit_model(), {}, Mode::infer).taps(), ElementsAre("logits"));
    EXPECT_THAT(Loss({}, distill, volo_model(), {}, Mode::infer).taps(), ElementsAre("logits"));
    distill.kind = Distillation::hard;
    EXPECT_THAT(Loss({}, distill, deit_model(), {}, Mode::infer).taps(),
                ElementsAre("logits", "logits_class", "logits_dist"));
}

LossInput token_input() {
    torch::manual_seed(5);
    LossInput input;
    input.logits = at::randn({2, 3});
    input.logits_aux = at::randn({2, 4, 3});
    input.labels = at::tensor({0, 2}, at::kLong);
    input.token_targets = at::softmax(at::randn({2, 4, 3}), -1);
    input.map_targets = at::tensor({0.7F, 0.2F, 0.1F, 0.1F, 0.8F, 0.1F}).reshape({2, 3});
    return input;
}

TEST(Losses, TheClassHeadLearnsWhatTheMapSaysUnlessToldOtherwise) {
    LossPart part;
    part.name = LossKind::token_label;
    const LossInput input = token_input();
    const at::Tensor truth = at::one_hot(input.labels, 3).to(at::kFloat);
    const auto labels = [&](ClassTarget target) {
        part.class_target = target;
        return Loss(part, {}, volo_model())(input).parts.at("labels");
    };
    const auto expected = [&](const at::Tensor& targets) {
        return -(targets * at::log_softmax(input.logits, -1)).sum(-1).mean();
    };
    EXPECT_TRUE(at::allclose(labels(ClassTarget::map), expected(input.map_targets)));
    EXPECT_TRUE(at::allclose(labels(ClassTarget::label), expected(truth)));
    // The map agrees with the first label only.
    const at::Tensor share = at::tensor({0.5F, 0.9F}).reshape({2, 1});
    EXPECT_TRUE(at::allclose(labels(ClassTarget::blend),
                             expected(share * input.map_targets + (1 - share) * truth)));
}

TEST(Losses, ExchangedTokensMixTheClassTargetAlone) {
    LossPart part;
    part.name = LossKind::token_label;
    LossInput input = token_input();
    const LossResult whole = Loss(part, {}, volo_model())(input);
    input.exchanged = 0.25;
    const LossResult mixed = Loss(part, {}, volo_model())(input);
    EXPECT_TRUE(at::equal(mixed.parts.at("tokens"), whole.parts.at("tokens")));
    const at::Tensor targets = 0.75 * input.map_targets + 0.25 * input.map_targets.flip(0);
    EXPECT_TRUE(at::allclose(mixed.parts.at("labels"),
                             -(targets * at::log_softmax(input.logits, -1)).sum(-1).mean()));
    // Plain labels, too: each image is three quarters its own.
    input.map_targets = at::Tensor();
    const at::Tensor truth = at::one_hot(input.labels, 3).to(at::kFloat);
    EXPECT_TRUE(
        at::allclose(Loss(part, {}, volo_model())(input).parts.at("labels"),
                     -((0.75 * truth + 0.25 * truth.flip(0)) * at::log_softmax(input.logits, -1))
                          .sum(-1)
                          .mean()));
}

// Equation 3.2 of the thesis has no division by the classes.
TEST(Losses, SoftDistillationIsDividedAsToldTo) {
    DistillPart distill;
    distill.kind = Distillation::soft;
    distill.temperature = 2;
    LossInput input;
    torch::manual_seed(6);
    input.logits = at::randn({4, 3});
    input.labels = at::zeros({4}, at::kLong);
    input.teacher = at::randn({4, 3});
    const at::Tensor by_code = Loss({}, distill, cait_model())(input).parts.at("distill");
    distill.soft_mean = SoftMean::images;
    const at::Tensor by_formula = Loss({}, distill, cait_model())(input).parts.at("distill");
    EXPECT_TRUE(at::allclose(by_formula, 3 * by_code));
    const at::Tensor teacher = at::softmax(input.teacher / 2, 1);
    EXPECT_TRUE(at::allclose(
        by_formula,
        4 * (teacher * (teacher.log() - at::log_softmax(input.logits / 2, 1))).sum(1).mean()));
}

TEST(Losses, SmoothingThatPutsEveryTargetAboveTheThresholdIsRefused) {
    LossPart part;
    part.name = LossKind::bce;
    part.smoothing = 0.1;
    EXPECT_THAT(losses_refusal([&] { Loss(part, {}, cait_model()); }),
                HasSubstr("puts every target above loss.bce_threshold 0"));
    part.bce_threshold = 0.2;
    EXPECT_NO_THROW(Loss(part, {}, cait_model()));
    part.bce_threshold = -1;
    EXPECT_NO_THROW(Loss(part, {}, cait_model()));
}

TEST(Losses, ContradictionsAreRefused) {
    LossPart part;
    part.cosub = true;
    DistillPart distill;
    distill.kind = Distillation::soft;
    EXPECT_THAT(losses_refusal([&] { Loss(part, distill, cait_model()); }),
                HasSubstr("loss.cosub"));
    distill.alpha = 1.5;
    EXPECT_THAT(losses_refusal([&] { Loss({}, distill, cait_model()); }),
                HasSubstr("distill.alpha: expected a number from 0 to 1, found 1.5"));
}

TEST(Losses, TensorsThatAreMissingOrDoNotFitAreNamed) {
    DistillPart distill;
    distill.kind = Distillation::hard;
    LossInput input;
    EXPECT_THAT(losses_refusal([&] { Loss({}, {}, cait_model())(input); }),
                HasSubstr("[loss] logits: expected some, found none"));
    input.logits = at::zeros({2, 3});
    EXPECT_THAT(losses_refusal([&] { Loss({}, {}, cait_model())(input); }),
                HasSubstr("[loss] labels: expected [2], found none"));
    input.labels = at::zeros({2}, at::kLong);
    EXPECT_THAT(losses_refusal([&] { Loss({}, distill, cait_model())(input); }),
                HasSubstr("[loss] teacher: expected [2, 3], found none"));
    input.targets = at::zeros({2, 4});
    EXPECT_THAT(losses_refusal([&] { Loss({}, {}, cait_model())(input); }),
                HasSubstr("[loss] targets: expected [2, 3], found [2, 4]"));
}

TEST(Losses, CountHitsAndNameTheirParts) {
    DistillPart distill;
    distill.kind = Distillation::hard;
    LossInput input;
    input.logits = at::tensor({2.0F, 0.0F, 0.0F, 0.0F, 0.0F, 1.0F}).reshape({2, 3});
    input.labels = at::tensor({0, 1}, at::kLong);
    input.teacher = at::tensor({0.0F, 5.0F, 0.0F, 0.0F, 0.0F, 5.0F}).reshape({2, 3});
    const LossResult result = Loss({}, distill, cait_model())(input);
    EXPECT_EQ(result.correct.item<std::int64_t>(), 1);
    EXPECT_NEAR(result.total.item<double>(),
                0.5 * (result.parts.at("labels") + result.parts.at("distill")).item<double>(),
                1e-6);
}

TEST(Losses, ClassHeadStandsForTheLogitsWhereThereIsOne) {
    LossInput input;
    input.take({{"logits", at::full({1, 3}, 7.0)},
                {"logits_class", at::tensor({9.0F, 0.0F, 0.0F}).reshape({1, 3})}});
    input.labels = at::zeros({1}, at::kLong);
    EXPECT_LT(Loss({}, {}, deit_model())(input).total.item<double>(), 0.01);
}

// Thesis, section 3.3: "an additional class token associated with the same target label".
TEST(Losses, ASecondClassTokenLearnsFromTheSameLabels) {
    const ModelSpec model =
        configure("deit_tiny_patch16_224", {{"classes", "3"}, {"class_tokens", "2"}});
    const Loss loss({}, {}, model);
    EXPECT_THAT(loss.taps(), ElementsAre("logits", "logits_class", "logits_second"));
    LossInput input;
    input.logits = input.logits_class = at::tensor({2.0F, 0.0F, -1.0F}).reshape({1, 3});
    input.logits_second = at::tensor({0.0F, 1.0F, 0.5F}).reshape({1, 3});
    input.labels = at::zeros({1}, at::kLong);
    const auto entropy = [&](const at::Tensor& logits) {
        return at::cross_entropy_loss(logits, input.labels).item<float>();
    };
    EXPECT_NEAR(loss(input).total.item<float>(),
                (entropy(input.logits_class) + entropy(input.logits_second)) / 2, 1e-6);
    LossPart twins;
    twins.cosub = true;
    EXPECT_THAT(losses_refusal([&] { Loss(twins, {}, model); }),
                HasSubstr("loss.cosub: expected a model"));
}

TEST(Losses, CosubTakesLabelsOnceOrTwice) {
    LossPart part;
    part.cosub = true;
    const Loss loss(part, {}, cait_model());
    LossInput input;
    torch::manual_seed(1);
    input.logits = at::randn({4, 3});
    input.labels = at::tensor({0, 2}, at::kLong);
    const LossResult once = loss(input);
    input.labels = at::tensor({0, 2, 0, 2}, at::kLong);
    const LossResult twice = loss(input);
    EXPECT_EQ(once.total.item<float>(), twice.total.item<float>());
    EXPECT_TRUE(at::equal(once.correct, twice.correct));
    input.logits = at::randn({3, 3});
    EXPECT_THAT(losses_refusal([&] { loss(input); }), HasSubstr("an even number of rows, found 3"));
}

TEST(Losses, AreComputedInFloat32) {
    LossInput input;
    torch::manual_seed(1);
    const at::Tensor logits = at::randn({8, 3}).to(at::kBFloat16);
    input.logits = logits;
    input.labels = at::zeros({8}, at::kLong);
    const at::Tensor narrow = Loss({}, {}, cait_model())(input).total;
    input.logits = logits.to(at::kFloat);
    EXPECT_EQ(narrow.scalar_type(), at::kFloat);
    EXPECT_EQ(narrow.item<float>(), Loss({}, {}, cait_model())(input).total.item<float>());
}

}  // namespace
}  // namespace cait
