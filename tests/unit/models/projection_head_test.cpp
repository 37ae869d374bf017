// Projection heads as parts of a model: recorded on any trunk, run by every walker, saved with the
// model file where that is asked for, and left out of it otherwise.
#include "models/projection_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cait/model.h"
#include "cait/session.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

using testing::HasSubstr;

SettingList projection_head_with(SettingList settings, const SettingList& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

const SettingList kProjectionHeadTiny{{"image_size", "32"}, {"patch", "8"}, {"dim", "16"},
                                      {"depth", "2"},       {"heads", "2"}, {"classes", "5"}};
const SettingList kMlp{{"head.kind", "mlp"}, {"head.hidden", "12"}, {"head.outputs", "6"}};

bool has_param(const Graph& graph, const std::string& name) {
    return std::ranges::any_of(graph.params,
                               [&](const ParamSpec& spec) { return spec.name == name; });
}

// The engine and the plain interpreter give the same, and projections have unit length.
class HeadOnATrunk : public testing::TestWithParam<test::SmallPreset> {};

std::vector<test::SmallPreset> headless_of_each_family() {
    std::vector<test::SmallPreset> presets;
    for (const std::string& family : test::family_names())
        presets.push_back(test::distinct_small_presets(family).front());
    return presets;
}

TEST_P(HeadOnATrunk, RunsOnTheEngineAsInTheReference) {
    for (const char* kind : {"linear", "mlp", "dino", "none"}) {
        SCOPED_TRACE(kind);
        const SettingList head{{"head.kind", kind},
                               {"head.hidden", "12"},
                               {"head.outputs", "6"},
                               {"head.bottleneck", "7"},
                               {"head.predictor", std::string(kind) == "dino" ? "0" : "9"}};
        const ModelSpec spec =
            configure(GetParam().name, projection_head_with(GetParam().settings, head));
        std::vector<std::string> taps{"projection"};
        if (spec.head.predictor > 0) taps.emplace_back("prediction");
        const Graph graph = record(spec, {.taps = taps});
        EXPECT_FALSE(graph.outputs.contains("features"));
        const WeightMap weights = test::lively_weights(graph);
        const Tensor images = test::random_images(spec, 3);
        const auto expected = run_reference(graph, images, weights);
        const Model model =
            Model::create(GetParam().name, projection_head_with(GetParam().settings, head))
                .with_weights(weights);
        const auto found = Session(model, {.threads = 1}).run(images, taps);
        for (const std::string& tap : taps)
            test::expect_close(found.at(tap), expected.at(tap), 1e-4, tap);
        if (std::string(kind) == "dino") continue;
        const Tensor& projection = expected.at("projection");
        const std::int64_t width = projection.shape()[1];
        for (std::int64_t row = 0; row < 3; ++row) {
            double square = 0;
            for (std::int64_t i = 0; i < width; ++i)
                square += std::pow(double(projection.floats()[std::size_t(row * width + i)]), 2);
            EXPECT_NEAR(square, 1, 1e-5);
        }
    }
}

TEST_P(HeadOnATrunk, HasAClassifierWithAHiddenLayer) {
    const SettingList settings =
        projection_head_with(GetParam().settings, {{"head.classifier", "7"}});
    const ModelSpec spec = configure(GetParam().name, settings);
    const Graph plain = record(configure(GetParam().name, GetParam().settings));
    const Graph graph = record(spec);
    std::int64_t hidden = 0;
    for (const ParamSpec& param : graph.params) {
        if (param.name.find("_hidden.") != std::string::npos) ++hidden;
        if (param.role.kind != ParamRole::Kind::class_head || param.shape.rank() != 2) continue;
        EXPECT_EQ(param.shape[1] == 7, !param.name.starts_with("aux_head")) << param.name;
    }
    // A linear map and a batch norm for each head.
    EXPECT_GT(hidden, 0);
    EXPECT_EQ(hidden % 6, 0);
    EXPECT_EQ(std::int64_t(graph.params.size()), std::int64_t(plain.params.size()) + hidden);
    const WeightMap weights = test::lively_weights(graph);
    const Tensor images = test::random_images(spec, 3);
    const Model model = Model::create(GetParam().name, settings).with_weights(weights);
    test::expect_close(Session(model, {.threads = 1}).run(images, {"logits"}).at("logits"),
                       run_reference(graph, images, weights).at("logits"), 1e-4, "logits");
}

INSTANTIATE_TEST_SUITE_P(All, HeadOnATrunk, testing::ValuesIn(headless_of_each_family()),
                         [](const auto& of) { return of.param.name; });

TEST(ProjectionHead, NothingIsRecordedWithoutOne) {
    const Graph graph = record(configure("deit_tiny_patch16_224", kProjectionHeadTiny));
    EXPECT_FALSE(has_param(graph, "projector.0.weight"));
    EXPECT_THROW(
        record(configure("deit_tiny_patch16_224", kProjectionHeadTiny), {.taps = {"projection"}}),
        UsageError);
    const ModelSpec spec = configure("deit_tiny_patch16_224", kProjectionHeadTiny);
    for (const auto& [key, value] : spec.settings()) EXPECT_FALSE(key.starts_with("head.")) << key;
}

TEST(ProjectionHead, GainsLearnOnlyWhereTheyAreNotFixed) {
    for (const bool fixed : {true, false}) {
        const ModelSpec spec = configure(
            "deit_tiny_patch16_224",
            projection_head_with(
                kProjectionHeadTiny,
                {{"head.kind", "dino"}, {"head.norm_last_layer", fixed ? "true" : "false"}}));
        for (const ParamSpec& param : record(spec).params)
            EXPECT_EQ(param.trainable, !fixed || param.name != "projector.last_layer.weight_g")
                << param.name;
    }
}

TEST(ProjectionHead, GoesWithTheFileAndCanBeTakenAway) {
    const TemporaryFolder folder;
    const Model bare = Model::create("deit_tiny_patch16_224", kProjectionHeadTiny, 1);
    const Model model = bare.with_head(kMlp, 2);
    EXPECT_EQ(model.weights().at("projector.3.weight").shape(), (Shape{6, 12}));
    const auto file = folder / "model.safetensors";
    model.save(file);
    const Model loaded = Model::load(file);
    EXPECT_EQ(loaded.spec().head, model.spec().head);
    EXPECT_EQ(loaded.weights().size(), model.weights().size());

    const Model without = loaded.with_head({});
    EXPECT_EQ(without.weights().size(), bare.weights().size());
    EXPECT_FALSE(without.spec().head.any());
    // The trunk is the same, and another head of other sizes is fresh.
    const Model other = loaded.with_head({{"head.kind", "linear"}, {"head.outputs", "4"}});
    EXPECT_EQ(other.weights().at("projector.weight").shape(), (Shape{4, 16}));
    EXPECT_EQ(other.weights().at("norm.weight").bytes(),
              loaded.weights().at("norm.weight").bytes());
}

TEST(ProjectionHead, AFileWithOneLoadsIntoAModelWithout) {
    const TemporaryFolder folder;
    const auto file = folder / "model.safetensors";
    Model::create("deit_tiny_patch16_224", kProjectionHeadTiny, 1).with_head(kMlp).save(file);
    const Model loaded =
        Model::load(file, "deit_tiny_patch16_224",
                    projection_head_with(kProjectionHeadTiny, {{"head.kind", "none"}}));
    EXPECT_FALSE(loaded.weights().contains("projector.0.weight"));
}

TEST(ProjectionHead, AClassifierWithAHiddenLayerGoesWithTheFile) {
    const TemporaryFolder folder;
    const Model bare = Model::create("deit_tiny_patch16_224", kProjectionHeadTiny, 1);
    const Model model = bare.with_head({{"head.classifier", "12"}}, 2);
    EXPECT_EQ(model.weights().at("head.weight").shape(), (Shape{5, 12}));
    EXPECT_EQ(model.weights().at("head_hidden.0.weight").shape(), (Shape{12, 16}));
    EXPECT_THAT(model.notes().back(), HasSubstr("head rebuilt: its hidden layer has 12 numbers"));
    const auto file = folder / "model.safetensors";
    model.save(file);
    const Model loaded = Model::load(file);
    EXPECT_EQ(loaded.spec().head, model.spec().head);
    const Tensor images = test::random_images(loaded.spec(), 2);
    test::expect_close(Session(loaded, {.threads = 1}).run(images, {"logits"}).at("logits"),
                       Session(model, {.threads = 1}).run(images, {"logits"}).at("logits"), 0,
                       "logits");
    // Other classes keep the hidden layer, another head keeps the trunk alone.
    const Model renamed = loaded.with_classes({"a", "b"});
    EXPECT_EQ(renamed.weights().at("head.weight").shape(), (Shape{2, 12}));
    EXPECT_EQ(renamed.weights().at("head_hidden.0.weight").bytes(),
              loaded.weights().at("head_hidden.0.weight").bytes());
    EXPECT_EQ(loaded.with_head({}).weights().size(), bare.weights().size());
}

TEST(ProjectionHead, HeadsOfSingleClassesHaveNoHiddenLayer) {
    EXPECT_THROW(configure("patchconvnet_s60_multi", {{"head.classifier", "12"}}), UsageError);
}

TEST(ProjectionHead, AWrongKeyNamesTheRightOnes) {
    try {
        configure("deit_tiny_patch16_224", {{"head.hiden", "3"}});
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("head.hidden"));
    }
}

TEST(ProjectionHead, IsAmongTheTapsOfItsModelAlone) {
    const std::set<std::string> plain =
        offered_taps(configure("deit_tiny_patch16_224", kProjectionHeadTiny));
    std::set<std::string> with_head = offered_taps(
        configure("deit_tiny_patch16_224", projection_head_with(kProjectionHeadTiny, kMlp)));
    EXPECT_TRUE(plain.contains("features"));
    EXPECT_FALSE(plain.contains("projection"));
    EXPECT_EQ(with_head.erase("projection"), 1U);
    EXPECT_EQ(with_head, plain);
}

}  // namespace
}  // namespace cait
