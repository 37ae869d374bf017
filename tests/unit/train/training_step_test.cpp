// A training step against the same step written out: the loss by its formula, gradients of the
// whole batch at once, and plain gradient descent. However many parts the batch goes through the
// network in, loss, hits, norm, weights and averages must be these.
#include "train/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "cait/train.h"
#include "data/augment/mixup.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "train/objectives/label_loss.h"
#include "train/torch/convert.h"

namespace cait {
namespace {

constexpr std::int64_t kBatch = 8, kClasses = 3, kSide = 16;
constexpr std::uint64_t kStep = 5;
constexpr double kRate = 0.1, kDecay = 0.2, kLayerDecay = 0.5, kSmoothing = 0.1, kEma = 0.9;
constexpr std::int64_t kDepth = 2;
const std::vector<double> kClassWeights{0.5, 1, 2.5};

Model small_model(const std::string& drop_path, std::uint64_t seed = 3) {
    const Model model = Model::create("deit_tiny_patch16_224",
                                      {{"image_size", std::to_string(kSide)},
                                       {"patch", "8"},
                                       {"dim", "16"},
                                       {"depth", std::to_string(kDepth)},
                                       {"heads", "2"},
                                       {"classes", std::to_string(kClasses)},
                                       {"drop_path", drop_path}},
                                      seed);
    return model.with_weights(test::lively_weights(record(model.spec())));
}

Recipe plain_recipe() {
    Recipe recipe;
    recipe.model.name = "deit_tiny_patch16_224";
    recipe.optim.name = OptimizerKind::sgd;
    recipe.optim.momentum = 0;
    recipe.optim.weight_decay = kDecay;
    recipe.optim.layer_decay = kLayerDecay;
    recipe.train.ema = kEma;
    recipe.train.seed = 11;
    return recipe;
}

// Noise, with classes of unequal size.
Batch plain_batch() {
    Batch batch;
    batch.size = std::size_t(kBatch);
    batch.storage = Tensor::empty(DType::f32, {kBatch, 3, kSide, kSide});
    RandomStream random(7, "images");
    for (float& value : batch.storage.mutable_floats()) value = random.normal();
    const std::vector<std::int64_t> labels{0, 1, 1, 2, 1, 0, 1, 1};
    batch.targets[kLabels] = Tensor::of({kBatch}, labels);
    for (std::uint64_t i = 0; i < std::uint64_t(kBatch); ++i) batch.keys.push_back({.sample = i});
    return batch;
}

// By mixup or CutMix, with a share of its own for every image.
Batch mixed_batch() {
    Batch batch = plain_batch();
    const Mixup mixup{.mode = MixMode::element};
    RandomStream random(9, "mixup");
    const std::vector<MixDraw> draws = draw_mix(mixup, kBatch, kSide, kSide, random);
    batch.finish(draws, {label_target(SoftLabels{.classes = kClasses, .smoothing = kSmoothing})});
    const auto cut = std::ranges::count_if(draws, &MixDraw::cut);
    EXPECT_GT(cut, 0);
    EXPECT_LT(cut, kBatch);
    return batch;
}

struct Known {
    at::Tensor images;   // [B, 3, H, W]
    at::Tensor hot;      // [B, K]: 1 where the label is
    at::Tensor targets;  // [B, K], where labels are mixed
    at::Tensor weights;  // [K] of the classes
    at::Tensor teacher;  // [B, K] logits
};

at::Tensor smoothed(const at::Tensor& hot) {
    return hot * (1 - kSmoothing) + kSmoothing / double(kClasses);
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
    const at::Tensor log_p = logits - logits.exp().sum(1, true).log();
    return -(targets * log_p).sum() / double(logits.size(0));
}

// Of the whole batch, whatever its parts have.
at::Tensor mean_weight(const Known& known) { return (known.hot * known.weights).sum(1).mean(); }

at::Tensor binary(const at::Tensor& logits, const at::Tensor& targets) {
    const at::Tensor p = 1 / (1 + (-logits).exp());
    return -(targets * p.log() + (1 - targets) * (1 - p).log()).sum() / double(logits.numel());
}

// The sum over the images of what it would cost to send the teacher's answers by the student's.
at::Tensor divergence(const at::Tensor& student, const at::Tensor& teacher, double t) {
    const at::Tensor p = at::softmax(teacher / t, 1);
    return (p * (p.log() - at::log_softmax(student / t, 1))).sum();
}

struct Case {
    std::string name;
    std::function<void(Recipe&)> change;
    bool mixed = false;
    bool weighted = false;
    std::function<at::Tensor(const at::Tensor& logits, const Known&)> loss;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> kCases{
        {"Labels", [](Recipe&) {}, false, false,
         [](const auto& z, const Known& k) { return cross_entropy(z, k.hot); }},
        {"Smoothed", [](Recipe& r) { r.loss.smoothing = kSmoothing; }, false, false,
         [](const auto& z, const Known& k) { return cross_entropy(z, smoothed(k.hot)); }},
        {"Weighted", [](Recipe&) {}, false, true,
         [](const auto& z, const Known& k) {
             return cross_entropy(z, k.hot * k.weights) / mean_weight(k);
         }},
        {"SmoothedWeighted", [](Recipe& r) { r.loss.smoothing = kSmoothing; }, false, true,
         [](const auto& z, const Known& k) {
             return cross_entropy(z, smoothed(k.hot) * k.weights) / mean_weight(k);
         }},
        {"MixedWeightedClipped",
         [](Recipe& r) {
             r.loss.smoothing = kSmoothing;
             r.optim.clip = ClipKind::norm;
             r.optim.clip_at = 0.25;
         },
         true, true,
         [](const auto& z, const Known& k) { return cross_entropy(z, k.targets * k.weights); }},
        {"LabelsClipped",
         [](Recipe& r) {
             r.optim.clip = ClipKind::norm;
             r.optim.clip_at = 0.25;
         },
         false, false, [](const auto& z, const Known& k) { return cross_entropy(z, k.hot); }},
        {"BinaryMixedClipped",
         [](Recipe& r) {
             r.loss.name = "bce";
             r.loss.bce_threshold = 0.2;
             r.optim.clip = ClipKind::norm;
             r.optim.clip_at = 0.25;
         },
         true, false,
         [](const auto& z, const Known& k) { return binary(z, k.targets.gt(0.2).to(at::kFloat)); }},
        {"TwinPasses",
         [](Recipe& r) {
             r.loss.name = "bce";
             r.loss.cosub = true;
         },
         false, false,
         [](const auto& z, const Known& k) {
             const at::Tensor a = z.narrow(0, 0, kBatch), b = z.narrow(0, kBatch, kBatch);
             return 0.25 * (binary(a, k.hot) + binary(b, k.hot) + binary(a, b.detach().sigmoid()) +
                            binary(b, a.detach().sigmoid()));
         }},
        {"HardTeacher",
         [](Recipe& r) { r.distill.kind = Distillation::hard, r.distill.alpha = 0.3; }, true, false,
         [](const auto& z, const Known& k) {
             const at::Tensor says =
                 at::zeros({kBatch, kClasses}).scatter_(1, k.teacher.argmax(1, true), 1);
             return 0.7 * cross_entropy(z, k.targets) + 0.3 * cross_entropy(z, says);
         }},
        {"SoftTeacher",
         [](Recipe& r) {
             r.distill.kind = Distillation::soft, r.distill.alpha = 0.3;
             r.distill.temperature = 2;
         },
         false, false,
         [](const auto& z, const Known& k) {
             return 0.7 * cross_entropy(z, k.hot) +
                    0.3 * 4 * divergence(z, k.teacher, 2) / double(kBatch * kClasses);
         }},
    };
    return kCases;
}

// Of a DeiT: matrices alone decay; embeddings are layer 0, the last norm and the head the highest.
bool decays(const std::string& name, const at::Tensor& value) {
    return value.dim() > 1 && name != "pos_embed" && name != "cls_token";
}

double rate_of(const std::string& name) {
    if (name.starts_with("head.") || name.starts_with("norm.")) return kRate;
    const std::int64_t layer = name.starts_with("blocks.") ? name[7] - '0' + 1 : 0;
    return kRate * std::pow(kLayerDecay, double(kDepth + 1 - layer));
}

struct Expected {
    double loss = 0, norm = 0, correct = 0;
    TorchTensors weights;
};

class StepByHand : public testing::TestWithParam<std::size_t> {
protected:
    StepByHand() {
        recipe_ = plain_recipe();
        cases()[GetParam()].change(recipe_);
        batch_ = cases()[GetParam()].mixed ? mixed_batch() : plain_batch();
        known_.images = to_torch(batch_.storage).clone();
        known_.hot = at::zeros({kBatch, kClasses})
                         .scatter_(1, to_torch(batch_.targets.at(kLabels)).unsqueeze(1), 1);
        if (batch_.targets.contains(kLabelRows))
            known_.targets = to_torch(batch_.targets.at(kLabelRows)).clone();
        known_.weights = torch::tensor(kClassWeights).to(at::kFloat);
        if (recipe_.distill.kind == Distillation::none) return;
        const Model teacher =
            small_model("0", 8).with_weights(initialize(record(small_model("0", 8).spec()), 8));
        teacher.save(folder_ / "teacher.safetensors");
        recipe_.distill.teacher = (folder_ / "teacher.safetensors").string();
        known_.teacher = to_torch(forward(teacher, from_torch(known_.images)).at("logits")).clone();
    }

    // One step from `weights` with the whole batch at once.
    Expected by_hand(const TorchTensors& weights, std::uint64_t step) const {
        const Model model = small_model("0.4");
        const TorchExecutor executor(record(model.spec(), {.mode = Mode::train}));
        TorchTensors params;
        for (const auto& [name, value] : weights)
            params[name] = value.detach().clone().requires_grad_();
        EvaluateContext context;
        context.mode = Mode::train;
        context.seed = std::uint64_t(recipe_.train.seed);
        context.step = step;
        const at::Tensor seen =
            recipe_.loss.cosub ? at::cat({known_.images, known_.images}) : known_.images;
        const at::Tensor logits = executor.run(seen, params, context).at("logits");
        const at::Tensor loss = cases()[GetParam()].loss(logits, known_);
        loss.backward();

        Expected result;
        result.loss = loss.item<double>();
        result.correct =
            logits.narrow(0, 0, kBatch).argmax(1).eq(known_.hot.argmax(1)).sum().item<double>();
        double squares = 0;
        for (const auto& [name, value] : params)
            squares += value.grad().to(at::kDouble).square().sum().item<double>();
        result.norm = std::sqrt(squares);
        const bool clips = recipe_.optim.clip == ClipKind::norm;
        EXPECT_TRUE(!clips || result.norm > 2 * recipe_.optim.clip_at) << "nothing is clipped";
        const double factor = clips ? recipe_.optim.clip_at / result.norm : 1;
        for (const auto& [name, value] : params) {
            at::Tensor gradient = factor * value.grad();
            if (decays(name, value)) gradient = gradient + kDecay * value.detach();
            result.weights[name] = value.detach() - rate_of(name) * gradient;
        }
        return result;
    }

    static void expect_near(const TorchTensors& found, const TorchTensors& expected,
                            const char* what) {
        ASSERT_EQ(found.size(), expected.size());
        for (const auto& [name, value] : expected)
            EXPECT_LT((found.at(name).detach() - value).abs().max().item<double>(), 3e-6)
                << what << " " << name;
    }

    Recipe recipe_;
    Batch batch_;
    Known known_;
    TemporaryFolder folder_;
};

TEST_P(StepByHand, InOnePartOrManyIsTheSame) {
    const std::vector<double> weights =
        cases()[GetParam()].weighted ? kClassWeights : std::vector<double>{};
    for (const std::int64_t parts : {1, 2, 4, 8}) {
        SCOPED_TRACE(parts);
        ProcessGroup group;
        TrainingStep step(recipe_, small_model("0.4"), group, {.class_weights = weights});
        step.set_parts(parts);
        TorchTensors before, average;
        for (const auto& [name, value] : step.weights())
            before[name] = average[name] = value.detach().clone();
        for (std::uint64_t i = kStep; i < kStep + 2; ++i) {  // other branches drop
            const Expected expected = by_hand(before, i);
            const StepResult result = step.run(batch_, i, kRate);
            EXPECT_EQ(result.first_bad, "");
            EXPECT_NEAR(result.loss, expected.loss, 1e-5);
            EXPECT_NEAR(result.gradient_norm, expected.norm, 1e-5 * expected.norm);
            EXPECT_EQ(result.correct, expected.correct);
            EXPECT_EQ(result.images, kBatch);
            expect_near(step.weights(), expected.weights, "weight");
            for (const auto& [name, value] : step.weights()) {
                average[name] = kEma * average[name] + (1 - kEma) * value.detach();
                before[name] = value.detach().clone();
            }
            expect_near(step.ema_weights(), average, "average of");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, StepByHand, testing::Range(std::size_t(0), cases().size()),
                         [](const auto& i) { return cases()[i.param].name; });

// A schedule moves the decay between steps; what does not decay never feels it.
TEST(TrainingStep, DecaysByWhatItWasToldLast) {
    const Recipe recipe = plain_recipe();
    for (const double decay : {0.0, 0.5}) {
        ProcessGroup group, other;
        TrainingStep step(recipe, small_model("0"), group), still(recipe, small_model("0"), other);
        TorchTensors start;
        for (const auto& [name, value] : step.weights()) start[name] = value.detach().clone();
        step.set_weight_decay(decay);
        still.set_weight_decay(0);
        Batch batch = plain_batch();
        step.run(batch, 0, kRate);
        still.run(batch, 0, kRate);
        for (const auto& [name, value] : step.weights()) {
            const double kept = decays(name, value) ? rate_of(name) * decay : 0;
            const at::Tensor expected = still.weights().at(name).detach() - kept * start.at(name);
            EXPECT_LT((value.detach() - expected).abs().max().item<double>(), 1e-6) << name;
        }
    }
}

// Each part sees the maps of its own images. Batch norms see a part, too: so does the hand.
TEST(TrainingStep, EveryPartHasItsOwnLabelMaps) {
    Recipe recipe = plain_recipe();
    recipe.loss.name = "token_label";
    recipe.train.ema = 0;
    const Model model = Model::create("volo_d1_224", {{"image_size", "32"},
                                                      {"classes", "3"},
                                                      {"layers", "1,1,1,1"},
                                                      {"dims", "8,16,16,16"},
                                                      {"heads", "2,4,2,4"},
                                                      {"stem", "6"},
                                                      {"class_layers", "2"},
                                                      {"aux_head", "true"},
                                                      {"drop_path", "0"}});
    recipe.model.name = "volo_d1_224";
    ProcessGroup group;
    const LabelMapSize size{.count = 3, .height = 2, .width = 2};
    TrainingStep step(recipe, model, group, {.maps = size});
    const Grid grid = step.token_grid();
    const std::int64_t floats = label_map_floats(size, grid.count());
    std::vector<float> maps;
    Batch batch = plain_batch();
    batch.storage = Tensor::empty(DType::f32, {kBatch, 3, 32, 32});
    RandomStream random(4, "pixels");
    for (float& value : batch.storage.mutable_floats()) value = random.normal();
    for (std::int64_t i = 0; i < kBatch; ++i) {
        for (int c = 0; c < 12; ++c) maps.push_back(3 * random.normal());
        for (int c = 0; c < 12; ++c) maps.push_back(float(c / 4));
        for (const float edge : {0.0F, 0.0F, 1.0F, 1.0F, 0.0F}) maps.push_back(edge);
        for (std::int64_t n = 0; n < grid.count(); ++n) maps.push_back(float(n));
    }
    batch.targets[kLabelMaps] = Tensor::of({kBatch, floats}, maps);

    constexpr std::int64_t kParts = 2, kSize = kBatch / kParts;
    const LabelLoss loss(recipe.loss, recipe.distill, model.spec());
    const TorchExecutor executor(record(model.spec(), {.mode = Mode::train, .taps = loss.taps()}));
    TorchTensors params;
    for (const auto& [name, value] : step.weights()) params[name] = value.detach().clone();
    EvaluateContext context;
    context.mode = Mode::train;
    double expected = 0;
    for (std::int64_t p = 0; p < kParts; ++p) {
        const TorchTensors out =
            executor.run(to_torch(batch.storage).narrow(0, p * kSize, kSize), params, context);
        const MapTargets targets =
            map_targets(torch::tensor(maps).view({kBatch, floats}).narrow(0, p * kSize, kSize),
                        size, grid, kClasses, 0);
        const at::Tensor tokens = out.at("logits_aux").flatten(0, 1);
        expected += (cross_entropy(out.at("logits_class"), targets.images) +
                     0.5 * cross_entropy(tokens, targets.tokens.flatten(0, 1)))
                        .item<double>() /
                    double(kParts);
    }
    step.set_parts(kParts);
    EXPECT_NEAR(step.run(batch, 0, kRate).loss, expected, 1e-5);
}

// Of parts that do not divide the batch the last one is smaller, and each image counts the same.
TEST(TrainingStep, EveryImageIsInAPart) {
    const Recipe recipe = plain_recipe();
    ProcessGroup group;
    const auto loss = [&](std::int64_t parts) {
        TrainingStep step(recipe, small_model("0"), group);
        step.set_parts(parts);
        Batch batch = plain_batch();
        EXPECT_NE(batch.size % 3, 0U);
        const StepResult result = step.run(batch, 0, kRate);
        EXPECT_EQ(result.images, double(batch.size));
        return result.loss;
    };
    EXPECT_NEAR(loss(3), loss(1), 1e-5);
}

}  // namespace
}  // namespace cait
