#include "train/view_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/model.h"
#include "models/catalogue.h"
#include "train/torch/convert.h"
#include "weights/position_embedding.h"

namespace cait {
namespace {

using testing::HasSubstr;

// A small model with positions that are not zero, and its graphs at 32 and 16 pixels.
struct Network {
    explicit Network(const std::string& name, const SettingList& settings)
        : spec(configure(name, settings)),
          graphs(
              [this](const GraphSize& size) {
                  return record(
                      spec, {.mode = Mode::train, .image_size = size.image, .taps = {"features"}});
              },
              ImageSize{32, 32}) {
        torch::manual_seed(1);
        for (const ParamSpec& param : graphs.own().graph().params)
            params[param.name] =
                param.role.kind == ParamRole::Kind::statistic
                    ? at::ones(param.shape.extents())
                    : at::randn(param.shape.extents()).mul_(0.2).requires_grad_(true);
    }

    ModelSpec spec;
    ViewGraphs graphs;
    TorchTensors params;
};

const SettingList kSmallDeit{{"image_size", "32"}, {"patch", "4"}, {"dim", "24"},
                             {"depth", "2"},       {"heads", "2"}, {"classes", "5"}};

TEST(ViewGraphs, OneSetOfParametersAtEverySize) {
    Network network("deit_tiny_patch16_224", kSmallDeit);
    const auto large = network.graphs.run(at::randn({2, 3, 32, 32}), network.params, {});
    const auto small = network.graphs.run(at::randn({3, 3, 16, 24}), network.params, {});
    EXPECT_EQ(large.at("features").sizes(), (std::vector<std::int64_t>{2, 24}));
    EXPECT_EQ(small.at("features").sizes(), (std::vector<std::int64_t>{3, 24}));
    EXPECT_EQ(
        network.graphs.params_at(ImageSize{32, 32}, network.params).at("pos_embed").data_ptr(),
        network.params.at("pos_embed").data_ptr());
    EXPECT_EQ(network.graphs.params_at(ImageSize{16, 24}, network.params)
                  .at("blocks.0.attn.qkv.weight")
                  .data_ptr(),
              network.params.at("blocks.0.attn.qkv.weight").data_ptr());
}

// DINO's interpolate_pos_encoding, and the same by PyTorch's own operation.
TEST(ViewGraphs, PositionsAreResizedAsInDinosCode) {
    Network network("deit_tiny_patch16_224", kSmallDeit);
    const at::Tensor positions = network.params.at("pos_embed");
    const at::Tensor found =
        network.graphs.params_at(ImageSize{16, 24}, network.params).at("pos_embed");
    const at::Tensor grid = positions.narrow(1, 1, 64).reshape({1, 8, 8, 24}).permute({0, 3, 1, 2});
    const at::Tensor resized = at::upsample_bicubic2d(grid, c10::optional<at::IntArrayRef>(), false,
                                                      at::ArrayRef<double>{4.1 / 8, 6.1 / 8});
    ASSERT_EQ(resized.sizes(), (std::vector<std::int64_t>{1, 24, 4, 6}));
    const at::Tensor expected =
        at::cat({positions.narrow(1, 0, 1), resized.permute({0, 2, 3, 1}).reshape({1, 24, 24})}, 1);
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-6);

    const at::Tensor probe = at::randn(found.sizes());
    (found * probe).sum().backward();
    const at::Tensor ours = positions.grad().clone();
    positions.mutable_grad().reset();
    (expected * probe).sum().backward();
    EXPECT_LT((ours - positions.grad()).abs().max().item<double>(), 1e-5);
    EXPECT_GT(ours.abs().max().item<double>(), 0.1);
}

// The gradient of a loss over both sizes, against a small step in the position of one patch.
TEST(ViewGraphs, GradientsOfAllSizesArriveAtTheParameters) {
    Network network("deit_tiny_patch16_224", kSmallDeit);
    const at::Tensor large = at::randn({2, 3, 32, 32}), small = at::randn({6, 3, 16, 24});
    const at::Tensor probe = at::randn({24});
    const auto loss = [&] {
        EvaluateContext context;
        return (network.graphs.run(large, network.params, context).at("features") * probe).sum() +
               (network.graphs.run(small, network.params, context).at("features") * probe).sum();
    };
    loss().backward();
    for (const auto& [name, param] : network.params) {
        if (name.starts_with("head")) continue;
        EXPECT_TRUE(param.grad().defined() && param.grad().abs().max().item<double>() > 0) << name;
    }
    at::Tensor positions = network.params.at("pos_embed");
    const double gradient = positions.grad()[0][20][7].item<double>();
    constexpr double kStep = 1e-2;
    const at::NoGradGuard no_grad;
    positions[0][20][7] += kStep;
    const double above = loss().item<double>();
    positions[0][20][7] -= 2 * kStep;
    const double below = loss().item<double>();
    EXPECT_NEAR((above - below) / (2 * kStep), gradient, 0.01 * std::abs(gradient) + 2e-3);
}

TEST(ViewGraphs, FamiliesWithAndWithoutPositionsTakeOtherSizes) {
    const std::vector<std::pair<std::string, SettingList>> cases{
        {"cait_xxs24_224",
         {{"image_size", "32"}, {"patch", "4"}, {"dim", "24"}, {"depth", "1"}, {"heads", "2"}}},
        {"patchconvnet_s60", {{"image_size", "32"}, {"dim", "24"}, {"depth", "1"}}},
        {"resnet18", {{"image_size", "32"}}},
        {"volo_d1_224", {{"image_size", "32"}}}};
    for (const auto& [name, settings] : cases) {
        SCOPED_TRACE(name);
        Network network(name, settings);
        const auto outputs = network.graphs.run(at::randn({3, 3, 16, 16}), network.params, {});
        EXPECT_EQ(outputs.at("features").size(0), 3);
    }
}

// Sentences come in many lengths: old graphs go, and all have the same parameters.
TEST(ViewGraphs, SentencesHaveAGraphForEachLength) {
    const ModelSpec spec = configure("resmlp_translate_small", {{"dim", "8"},
                                                                {"hidden", "8"},
                                                                {"heads", "2"},
                                                                {"encoder_depth", "1"},
                                                                {"decoder_depth", "1"},
                                                                {"longest", "128"},
                                                                {"vocabulary", "12"}});
    std::size_t recorded = 0;
    ViewGraphs graphs(
        [&](const GraphSize& size) {
            ++recorded;
            return record(spec, {.text_size = size.text, .taps = {"logits"}});
        },
        TextSize{.source = 1, .target = 1});
    TorchTensors params;
    for (const ParamSpec& param : graphs.own().graph().params)
        params[param.name] = at::ones(param.shape.extents());
    const auto run = [&](std::int64_t source, std::int64_t target) {
        NamedInputs<at::Tensor> inputs;
        inputs["source"] = at::full({2, source}, 5, at::kLong);
        inputs["source_mask"] = at::ones({2, source});
        inputs["target"] = at::full({2, target}, 6, at::kLong);
        return graphs.run(inputs, params, {}).at("logits");
    };
    EXPECT_EQ(run(16, 8).sizes(), (std::vector<std::int64_t>{2, 8, 12}));
    EXPECT_EQ(run(8, 16).sizes(), (std::vector<std::int64_t>{2, 16, 12}));
    EXPECT_EQ(recorded, 3U);
    run(16, 8);
    EXPECT_EQ(recorded, 3U);
    for (std::int64_t length = 2; length < 2 + std::int64_t(ViewGraphs::kMostSizes) - 1; ++length) {
        graphs.at(TextSize{.source = length, .target = 1});
        graphs.at(TextSize{.source = 16, .target = 8});  // in use: it stays
    }
    const std::size_t before = recorded;
    run(16, 8);
    EXPECT_EQ(recorded, before);
    run(8, 16);  // the one that was used longest ago
    EXPECT_EQ(recorded, before + 1);
}

TEST(ViewGraphs, WhatCannotBeResizedIsNamed) {
    const SettingList small{{"image_size", "32"}, {"patch", "4"}, {"dim", "24"}, {"depth", "1"}};
    Network network("resmlp_12_224", small);
    EXPECT_EQ(network.graphs.run(at::randn({1, 3, 32, 32}), network.params, {}).size(), 1U);
    try {
        network.graphs.run(at::randn({1, 3, 16, 16}), network.params, {});
        ADD_FAILURE() << "expected an error";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("32x32"), HasSubstr("16x16"),
                                                 HasSubstr("blocks.0.attn")));
    }
}

}  // namespace
}  // namespace cait
