// Losses and their gradients at fixed inputs against timm's and torch's. data/losses.json has the
// numbers.
#include <gtest/gtest.h>

#include "data/targets/label.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "train/objectives/label_loss.h"
#include "train/torch/convert.h"

namespace cait {
namespace {

using Json = nlohmann::json;

const Json& losses_file() {
    static const Json kFile = golden::read_json("losses.json");
    return kFile;
}

at::Tensor tensor(const std::string& name, const Shape& shape) {
    return 4 * to_torch(golden::pattern(name, shape));
}

std::vector<std::int64_t> labels() {
    return losses_file()["labels"].get<std::vector<std::int64_t>>();
}

// What the loader gives for a batch that was mixed with its own reverse.
at::Tensor mixed_targets(double smoothing) {
    const SoftLabels soft{.classes = losses_file()["classes"], .smoothing = smoothing};
    const std::vector<MixDraw> draws(labels().size(), MixDraw{.share = losses_file()["share"]});
    at::Tensor targets = at::empty({std::int64_t(labels().size()), soft.classes});
    mix_labels(soft, draws, labels(),
               std::span(targets.data_ptr<float>(), std::size_t(targets.numel())));
    return targets;
}

ModelSpec model_with(const std::string& head) {
    const std::string classes = std::to_string(losses_file()["classes"].get<int>());
    if (head == "dist") return configure("deit_tiny_distilled_patch16_224", {{"classes", classes}});
    if (head == "aux") return configure("volo_d1_224", {{"classes", classes}});
    return configure("cait_xxs24_224", {{"classes", classes}});
}

void losses_expect_equal(const at::Tensor& found, const Json& expected, const std::string& what) {
    const at::Tensor flat = found.flatten().contiguous();
    ASSERT_EQ(std::size_t(flat.numel()), expected.size()) << what;
    for (std::int64_t i = 0; i < flat.numel(); ++i)
        EXPECT_NEAR(flat.data_ptr<float>()[i], expected[std::size_t(i)].get<double>(), 1e-6)
            << what << " at " << i;
}

class GoldenLosses : public testing::TestWithParam<std::size_t> {};

TEST_P(GoldenLosses, LossAndGradientsAgree) {
    const Json& one = losses_file()["cases"][GetParam()];
    const Json& keys = one["recipe"];
    LossPart part;
    DistillPart distill;
    part.name = keys.value("loss.name", "cross_entropy");
    part.smoothing = keys.value("loss.smoothing", 0.0);
    part.bce_threshold = keys.value("loss.bce_threshold", 0.0);
    part.cosub = keys.value("loss.cosub", false);
    part.token_weight = keys.value("loss.token_weight", 0.5);
    const std::string kind = keys.value("distill.kind", "none");
    if (kind == "soft") distill.kind = Distillation::soft;
    if (kind == "hard") distill.kind = Distillation::hard;
    distill.alpha = keys.value("distill.alpha", 0.5);
    distill.temperature = keys.value("distill.temperature", 1.0);
    const LabelLoss loss(part, distill, model_with(keys.value("head", "")));

    const auto batch = std::int64_t(labels().size());
    const std::int64_t classes = losses_file()["classes"], tokens = losses_file()["tokens"];
    std::map<std::string, at::Tensor> leaves;
    const auto leaf = [&](const std::string& field, const Shape& shape) {
        return leaves[field] = tensor(field, shape).requires_grad_();
    };
    TorchTensors outputs;
    LabelTargets targets;
    targets.labels = torch::tensor(labels());
    outputs["logits"] =
        part.cosub ? leaf("twins", {2 * batch, classes}) : leaf("logits", {batch, classes});
    if (keys.value("head", "") == "dist")
        outputs["logits_dist"] = leaf("logits_dist", {batch, classes});
    if (keys.value("head", "") == "aux")
        outputs["logits_aux"] = leaf("logits_aux", {batch, tokens, classes});
    if (keys.contains("targets")) targets.mixed = mixed_targets(keys["targets"]);
    if (keys.contains("token_targets"))
        targets.tokens = at::softmax(tensor("token_targets", {batch, tokens, classes}), -1);
    if (kind != "none") targets.teacher = tensor("teacher", {batch, classes});

    const LossResult result = loss(outputs, targets);
    EXPECT_NEAR(result.total.item<double>(), one["loss"].get<double>(), 1e-6);
    result.total.backward();
    EXPECT_EQ(leaves.size(), one["gradients"].size());
    for (const auto& [field, value] : leaves)
        losses_expect_equal(value.grad(), one["gradients"].at(field), field);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenLosses, testing::Range(std::size_t(0), losses_file()["cases"].size()),
    [](const auto& i) {
        return losses_file()["cases"][i.param]["name"].template get<std::string>();
    });

TEST(GoldenTargets, NoCaseIsMissing) { EXPECT_EQ(losses_file()["cases"].size(), 15U); }

TEST(GoldenTargets, OfMixedLabelsAgree) {
    losses_expect_equal(mixed_targets(0.0), losses_file()["targets"]["0.0"], "without smoothing");
    losses_expect_equal(mixed_targets(0.1), losses_file()["targets"]["0.1"], "smoothed");
}

}  // namespace
}  // namespace cait
