// Every family, and every switch of CaiT, goes through the same list: record, decompose, declare,
// forward at its own and at another size, a training step, save and reload.
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include <filesystem>

#include "cait/train.h"
#include "graph/initialize.h"
#include "graph/passes.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "support/small_models.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

struct ModelCase {
    std::string name;
    std::string model;
    SettingList settings;
    std::string other_size;
};

ModelCase small(const std::string& name, const std::string& model, SettingList extra = {}) {
    SettingList settings = test::kSmall;
    settings.insert(settings.end(), extra.begin(), extra.end());
    return {name, model, settings, "24x32"};
}

ModelCase without_heads(const std::string& name, const std::string& model,
                        const SettingList& extra = {}) {
    ModelCase result = small(name, model, extra);
    std::erase_if(result.settings, [](const auto& setting) { return setting.first == "heads"; });
    return result;
}

ModelCase convnet(const std::string& name, const std::string& model, SettingList settings) {
    settings.insert(settings.end(), {{"image_size", "64"}, {"classes", "5"}});
    return {name, model, settings, "72x96"};
}

// A case again with both kinds of dropout: training meets the same mask before and after its step.
ModelCase dropped(const std::string& name, ModelCase result) {
    result.name = name;
    result.settings.insert(result.settings.end(),
                           {{"dropout", "0.1"}, {"attention_dropout", "0.1"}});
    return result;
}

// Each residual weighting with each start, learnable and frozen, under each class stage.
std::vector<ModelCase> cait_switches() {
    std::vector<ModelCase> cases;
    const auto add = [&](const SettingList& extra) {
        std::string name = "cait";
        for (const auto& [key, value] : extra) name += "_" + value;
        for (char& c : name)
            if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
        cases.push_back(small(name, "cait_xxs24_224", extra));
    };
    for (const char* residual : {"layerscale", "scalar", "fixup", "tfixup"})
        for (const char* init : {"auto", "zero", "1e-4", "uniform", "uniform:1e-3"})
            for (const char* learnable : {"true", "false"})
                add({{"residual", residual},
                     {"residual_init", init},
                     {"residual_learnable", learnable}});
    add({{"residual", "none"}});
    for (const char* talking : {"both", "before", "after", "none"})
        for (const char* stage : {"attention", "token", "average"})
            add({{"talking_heads", talking}, {"class_stage", stage}});
    for (const char* layers : {"1", "2", "3"})
        for (const char* in_keys : {"true", "false"})
            for (const char* scale : {"true", "false"})
                for (const char* distill : {"true", "false"})
                    add({{"class_layers", layers},
                         {"class_in_keys", in_keys},
                         {"class_scale", scale},
                         {"distill_token", distill}});
    for (const char* insert : {"0", "1"})
        for (const char* distill : {"true", "false"})
            add({{"class_stage", "token"}, {"class_insert", insert}, {"distill_token", distill}});
    add({{"heads", "4"}, {"dim", "32"}, {"mlp_ratio", "2.5"}, {"patch", "4"}, {"channels", "1"}});
    for (const SettingList& heads : test::talking_heads()) add(heads);
    return cases;
}

std::vector<ModelCase> presets() {
    std::vector<ModelCase> cases;
    for (const test::SmallPreset& preset : test::small_presets())
        cases.push_back({"preset_" + preset.name, preset.name, preset.settings, preset.other_size});
    return cases;
}

std::vector<ModelCase> models_all_cases() {
    std::vector<ModelCase> cases = cait_switches();
    const std::vector<ModelCase> every = presets();
    cases.insert(cases.end(), every.begin(), every.end());
    const std::vector<ModelCase> others = {
        small("vit", "vit_base_patch16_224"),
        small("vit_average", "vit_base_patch16_224", {{"pool", "average"}}),
        small("vit_fc_norm", "vit_base_patch16_224", {{"pool", "average"}, {"fc_norm", "true"}}),
        small("vit_sincos", "vit_base_patch16_224", {{"position", "sincos"}}),
        small("vit_no_position", "vit_base_patch16_224", {{"position", "none"}}),
        small("vit_mlp_head", "vit_base_patch16_224", {{"representation", "16"}}),
        small("deit", "deit_tiny_patch16_224"),
        small("deit_distilled", "deit_tiny_distilled_patch16_224"),
        small("deit3", "deit3_small_patch16_224"),
        small("deit3_parallel", "deit3_small_patch16_18x2"),
        small("deit3_plain", "deit3_small_patch16_36x1", {{"residual", "none"}}),
        small("deit_two_class_tokens", "deit_tiny_patch16_224", {{"class_tokens", "2"}}),
        small("deit_norm_post", "deit_tiny_patch16_224", {{"norm_place", "post"}}),
        small("deit_norm_none", "deit_tiny_patch16_224", {{"norm_place", "none"}}),
        small("deit3_norm_post", "deit3_small_patch16_224", {{"norm_place", "post"}}),
        small("deit3_parallel_norm_none", "deit3_small_patch16_18x2", {{"norm_place", "none"}}),
        small("cait_norm_post", "cait_xxs24_224", {{"norm_place", "post"}}),
        small("cait_norm_none", "cait_xxs24_224", {{"norm_place", "none"}, {"residual", "scalar"}}),
        small("dinov2", "vit_small_patch14_dinov2"),
        small("dinov2_registers", "vit_small_patch14_reg4_dinov2"),
        small("dinov2_swiglu", "vit_giant_patch14_dinov2"),
        small("dinov2_swiglu_registers", "vit_giant_patch14_reg4_dinov2", {{"mlp_ratio", "2.5"}}),
        small("deepvit", "deepvit_16b"),
        small("deepvit_s", "deepvit_s", {{"plain_blocks", "1"}}),
        small("deepvit_l", "deepvit_l", {{"plain_blocks", "2"}}),
        small("ceit", "ceit_tiny_patch16_224"),
        small("ceit_gelu", "ceit_small_patch16_224", {{"third_gelu", "true"}}),
        {"volo",
         "volo_d1_224",
         {{"image_size", "32"},
          {"layers", "1,1,1,1"},
          {"dims", "8,16,16,16"},
          {"heads", "2,4,2,4"},
          {"stem", "6"},
          {"classes", "5"},
          {"aux_head", "false"}},
         "48x32"},
        without_heads("resmlp", "resmlp_12_224"),
        without_heads("resmlp_layernorm", "resmlp_12_224", {{"norm", "layernorm"}}),
        without_heads("resmlp_class_mlp", "resmlp_12_224", {{"pool", "class_mlp"}}),
        without_heads("resmlp_none", "resmlp_12_224", {{"communication", "none"}}),
        without_heads("resmlp_mlp", "resmlp_12_224", {{"communication", "mlp"}}),
        without_heads("resmlp_conv", "resmlp_12_224", {{"communication", "conv"}}),
        without_heads("resmlp_depthwise", "resmlp_12_224", {{"communication", "depthwise"}}),
        without_heads("resmlp_separable", "resmlp_12_224", {{"communication", "separable"}}),
        without_heads("resmlp_batchnorm", "resmlp_12_224", {{"norm", "batchnorm"}}),
        without_heads("resmlp_batchnorm_class_mlp", "resmlp_12_224",
                      {{"norm", "batchnorm"}, {"pool", "class_mlp"}}),
        without_heads("resmlp_position", "resmlp_12_224", {{"position", "learned"}}),
        without_heads("resmlp_shift", "resmlp_12_224", {{"residual_shift", "true"}}),
        without_heads("resmlp_post", "resmlp_12_224", {{"norm_place", "post"}}),
        without_heads("resmlp_no_norm", "resmlp_12_224", {{"norm_place", "none"}}),
        without_heads("resmlp_relu", "resmlp_12_224", {{"activation", "relu"}}),
        without_heads("resmlp_silu", "resmlp_12_224", {{"activation", "silu"}}),
        without_heads("resmlp_hardswish", "resmlp_12_224", {{"activation", "hardswish"}}),
        small("patchconvnet", "patchconvnet_s60"),
        small("patchconvnet_multi", "patchconvnet_s60_multi"),
        small("patchconvnet_linear_stem", "patchconvnet_s60", {{"stem", "linear"}}),
        small("patchconvnet_batchnorm", "patchconvnet_s60", {{"norm", "batchnorm"}}),
        small("patchconvnet_average", "patchconvnet_s60", {{"pool", "average"}}),
        convnet("resnet_basic", "resnet18", {{"width", "4"}, {"blocks", "1,2,1,1"}}),
        convnet("resnet", "resnet50", {{"width", "4"}, {"blocks", "1,2,1,1"}}),
        convnet("resnet_attention", "resnet50",
                {{"width", "4"}, {"blocks", "1,2,1,1"}, {"pool", "attention"}}),
        convnet("resnext", "resnext50_32x4d",
                {{"width", "4"}, {"groups", "2"}, {"group_width", "32"}, {"blocks", "1,2,1,1"}}),
        convnet("resnet_d", "resnet50d", {{"width", "4"}, {"blocks", "1,2,1,1"}}),
        convnet("resnet_small_images", "resnet18",
                {{"width", "4"},
                 {"blocks", "1,2,1,1"},
                 {"stem_kernel", "3"},
                 {"stem_stride", "1"},
                 {"stem_pool", "false"}}),
        convnet("regnet", "regnety_160",
                {{"stem", "8"}, {"widths", "8,16,16,24"}, {"depths", "1,2,1,1"}, {"group", "8"}}),
        small("patchconvnet_scalar", "patchconvnet_s60", {{"residual", "scalar"}}),
        dropped("vit_dropout", small("", "vit_base_patch16_224")),
        dropped("deit_dropout", small("", "deit_tiny_distilled_patch16_224")),
        dropped("deit3_dropout", small("", "deit3_small_patch16_18x2")),
        dropped("cait_dropout", small("", "cait_xxs24_224", {{"distill_token", "true"}})),
        dropped("dinov2_dropout", small("", "vit_giant_patch14_reg4_dinov2")),
        dropped("deepvit_dropout", small("", "deepvit_s", {{"plain_blocks", "1"}})),
        dropped("ceit_dropout", small("", "ceit_tiny_patch16_224")),
        dropped("volo_dropout", {"",
                                 "volo_d1_224",
                                 {{"image_size", "32"},
                                  {"layers", "1,1,1,1"},
                                  {"dims", "8,16,16,16"},
                                  {"heads", "2,4,2,4"},
                                  {"stem", "6"},
                                  {"classes", "5"}},
                                 "48x32"}),
        small("cait_linear_drop_path", "cait_xxs24_224", {{"drop_path_rule", "linear"}}),
        small("deit_constant_drop_path", "deit_tiny_patch16_224", {{"drop_path_rule", "constant"}}),
    };
    cases.insert(cases.end(), others.begin(), others.end());
    return cases;
}

at::Tensor random_images(const ModelSpec& spec, std::int64_t batch) {
    const CommonConfig& common = spec.architecture->common();
    torch::manual_seed(1);
    return torch::randn(
        {batch, common.channels, common.image_size.height, common.image_size.width});
}

class Models : public testing::TestWithParam<ModelCase> {
protected:
    ModelSpec spec_ = configure(GetParam().model, GetParam().settings);

    // Fresh weights moved off their start, so that no branch is switched off by a zero.
    TorchTensors lively_weights(const Graph& graph) {
        TorchTensors weights;
        torch::manual_seed(2);
        for (const ParamSpec& spec : graph.params)
            weights[spec.name] =
                to_torch(initialize(spec, 1)) + 0.1 * torch::randn(spec.shape.extents());
        return weights;
    }
};

TEST_P(Models, DecompositionGivesTheSameLogits) {
    const Graph graph = record(spec_);
    const TorchTensors weights = lively_weights(graph);
    const at::Tensor images = random_images(spec_, 2);
    const at::NoGradGuard no_gradients;
    const auto logits = [&](Graph g) {
        return from_torch(TorchExecutor(std::move(g)).run(images, weights).at("logits"));
    };
    const Tensor direct = logits(graph);
    EXPECT_EQ(direct.shape(), (Shape{2, 5}));
    test::expect_close(logits(decompose(graph)), direct, 1e-5, "logits");
}

// Three ways to the same numbers: this walker, the plain interpreter, and this walker on the graph
// whose weights have taken in what they can.
TEST_P(Models, ReferenceAndLoweredGraphGiveTheSameLogits) {
    const Graph graph = record(spec_);
    const WeightMap weights = test::lively_weights(graph);
    const Tensor images = test::random_images(spec_, 2);
    const at::NoGradGuard no_gradients;
    const auto logits = [&](const Graph& g, const WeightMap& with) {
        TorchTensors params;
        for (const auto& [name, tensor] : with) params[name] = to_torch(tensor);
        return from_torch(TorchExecutor(g).run(to_torch(images), params).at("logits"));
    };
    const Tensor reference = run_reference(graph, images, weights).at("logits");
    test::expect_close(logits(graph, weights), reference, 1e-5, "LibTorch");
    const ComputedConstants lowered = compute_constants(lower(graph), weights);
    test::expect_close(logits(lowered.graph, lowered.weights), reference, 1e-5, "lowered");
}

TEST_P(Models, RunsAtAnotherImageSize) {
    SettingList settings = GetParam().settings;
    settings.emplace_back("image_size", GetParam().other_size);
    const ModelSpec other = configure(GetParam().model, settings);
    const Graph graph = record(other);
    const at::NoGradGuard no_gradients;
    const at::Tensor logits =
        TorchExecutor(graph).run(random_images(other, 1), lively_weights(graph)).at("logits");
    EXPECT_TRUE(logits.isfinite().all().item<bool>());
}

// One small step along the gradient lowers the loss, and exactly the trainable parameters get one.
TEST_P(Models, TrainingStepLowersTheLoss) {
    // VOLO's second head is taught by labels of its own.
    RecordOptions options{.mode = Mode::train, .drop_path = 0.0};
    if (spec_.family->name == "volo" && spec_.settings().at("aux_head") == "true")
        options.taps = {"logits", "logits_aux"};
    const Graph graph = record(spec_, options);
    TorchTensors params = lively_weights(graph);
    const TorchExecutor executor(graph);
    const at::Tensor images = random_images(spec_, 4);
    const at::Tensor labels = torch::tensor({0, 1, 2, 3}, torch::kLong);
    const auto loss = [&] {
        at::Tensor sum;
        for (const auto& [name, logits] : executor.run(images, params)) {
            const at::Tensor pooled = logits.dim() == 3 ? logits.mean(1) : logits;
            const at::Tensor one = torch::nn::functional::cross_entropy(pooled, labels);
            sum = sum.defined() ? sum + one : one;
        }
        return sum;
    };
    for (const ParamSpec& spec : graph.params)
        params[spec.name] = params[spec.name].detach().requires_grad_(spec.trainable);
    const at::Tensor before = loss();
    before.backward();

    double squared = 0;
    for (const ParamSpec& spec : graph.params) {
        const at::Tensor& gradient = params[spec.name].grad();
        ASSERT_EQ(gradient.defined(), spec.trainable) << spec.name;
        if (gradient.defined()) squared += gradient.pow(2).sum().item<double>();
    }
    ASSERT_TRUE(std::isfinite(squared));
    const double rate = 1e-3;
    const at::NoGradGuard no_gradients;
    for (auto& [name, param] : params)
        if (param.grad().defined()) param.sub_(rate * param.grad());
    const double gained = before.item<double>() - loss().item<double>();
    EXPECT_NEAR(gained / (rate * squared), 1.0, 0.3);  // first-order prediction of the gain
}

// Logits and gradients of a training step, stochastic depth included.
std::map<std::string, Tensor> step_outcome(const Graph& graph, const TorchTensors& weights,
                                           const at::Tensor& images, Precision precision,
                                           Backend backend) {
    TorchTensors params;
    for (const ParamSpec& spec : graph.params)
        params[spec.name] = weights.at(spec.name).detach().clone().requires_grad_(spec.trainable);
    EvaluateContext context{.precision = precision, .seed = 5, .step = 7};
    context.backend = backend;
    const at::Tensor logits =
        TorchExecutor(graph).run(images, params, context).at("logits").to(at::kFloat);
    const at::Tensor labels = torch::arange(images.size(0), torch::kLong).remainder(5);
    torch::nn::functional::cross_entropy(logits, labels).backward();
    std::map<std::string, Tensor> outcome{{"logits", from_torch(logits)}};
    for (const auto& [name, param] : params)
        if (param.grad().defined()) outcome["grad." + name] = from_torch(param.grad());
    return outcome;
}

// Our kernels and ATen run the same graph.
TEST_P(Models, KernelsEqualAten) {
    const Graph graph = record(spec_, {.mode = Mode::train, .drop_path = 0.3});
    const TorchTensors weights = lively_weights(graph);
    const at::Tensor images = random_images(spec_, 6);
    const auto run = [&](Precision precision, Backend backend) {
        return step_outcome(graph, weights, images, precision, backend);
    };
    const auto aten = run(Precision::fp32, Backend::aten);
    const auto ours = run(Precision::fp32, Backend::automatic);
    EXPECT_EQ(ours.size(), aten.size());
    // Relative to a tensor's largest element. Some gradients are nothing but rounding, since a
    // softmax and, more so, a batch norm ignore a common shift: the largest of all counts there.
    const bool batch_norm = std::ranges::any_of(graph.nodes, [](const Node& node) {
        return std::holds_alternative<op::BatchNorm>(node.op);
    });
    const double rounding = batch_norm ? 1e-5 : 1e-6;
    const auto size = [](const Tensor& tensor) {
        double most = 0;
        for (const float value : tensor.floats()) most = std::max(most, std::fabs(double(value)));
        return most;
    };
    double largest = 0;
    for (const auto& [name, tensor] : aten)
        if (name != "logits") largest = std::max(largest, size(tensor));
    for (const auto& [name, tensor] : ours)
        test::expect_within(tensor, aten.at(name),
                            std::max(1e-5 * size(aten.at(name)), rounding * largest), name);
    const auto again = run(Precision::fp32, Backend::automatic);
    for (const auto& [name, tensor] : ours)
        EXPECT_TRUE(std::ranges::equal(tensor.floats(), again.at(name).floats())) << name;
    const auto narrow = run(Precision::bf16, Backend::automatic);
    test::expect_close(narrow.at("logits"), aten.at("logits"), 0.1, "logits in bf16");
}

TEST_P(Models, SavedAndReloadedIsIdentical) {
    const auto file = std::filesystem::path(testing::TempDir()) /
                      ("models_test_" + GetParam().name + ".safetensors");
    const Model model = Model::create(GetParam().model, GetParam().settings, 3);
    model.save(file);
    const Model again = Model::load(file);
    EXPECT_EQ(again.settings(), model.settings());
    EXPECT_TRUE(again.notes().empty());
    const Tensor images = from_torch(random_images(spec_, 2));
    const Tensor first = forward(model, images).at("logits");
    const Tensor second = forward(again, images).at("logits");
    EXPECT_TRUE(std::ranges::equal(first.floats(), second.floats()));
    std::filesystem::remove(file);
}

INSTANTIATE_TEST_SUITE_P(All, Models, testing::ValuesIn(models_all_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait
