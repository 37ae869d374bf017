// DINOv2's files as they are published and as timm keeps them: backbones without a head, positions
// of 37x37 patches that each release resizes by its own rule, registers; and DINO's training files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cait/classifier.h"
#include "cait/model.h"
#include "cait/session.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "graph/reference.h"
#include "models/alias_weights.h"
#include "models/catalogue.h"
#include "support/case_count.h"
#include "support/near.h"
#include "support/source_path.h"
#include "weights/npy.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const SettingList kDinov2Tiny = {
    {"image_size", "16"}, {"patch", "8"}, {"dim", "16"}, {"depth", "2"}, {"heads", "2"}};

std::filesystem::path e2e_data(const char* name) {
    return test::source_path(__FILE__).parent_path() / "../../e2e/data" / name;
}

SettingList dinov2_with(SettingList settings, const SettingList& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

class Dinov2 : public testing::Test {
protected:
    Dinov2()
        : path_(std::filesystem::path(testing::TempDir()) /
                (std::string("dinov2_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors")) {}
    ~Dinov2() override { std::filesystem::remove(path_); }

    // As Meta publishes a model: its tensors, a token that only training reads, and not a word.
    void publish(const std::map<std::string, Tensor>& weights) {
        std::vector<NamedTensor> tensors{{"mask_token", Tensor::zeros(DType::f32, {1, 16})}};
        for (const auto& [name, tensor] : weights) tensors.push_back({name, tensor});
        write_safetensors(path_, tensors, {});
    }

    std::string refusal(const std::function<void()>& action) {
        try {
            action();
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    }

    std::filesystem::path path_;
};

TEST_F(Dinov2, TheReleasesOwnRuleResizesThePositions) {
    const nlohmann::json file = golden::read_json("dinov2_resized.json");
    test::CaseCount count(12);
    for (const auto& one : file["cases"]) {
        ++count;
        const std::string model = one["model"], size = one["image_size"];
        SCOPED_TRACE(model + " at " + size);
        SettingList settings;
        for (const auto& [key, value] : one["set"].items()) settings.emplace_back(key, value);
        std::map<std::string, Tensor> weights;
        for (const ParamSpec& spec : record(configure(model, settings)).params)
            weights[spec.name] = golden::pattern(spec.name, spec.shape);
        ASSERT_EQ(weights.at("pos_embed").shape()[1], 1 + 37 * 37);
        publish(weights);

        const Model loaded =
            Model::load(path_, model, dinov2_with(settings, {{"image_size", size}}));
        EXPECT_EQ(loaded.notes().size(), 1U);
        const std::span<const float> positions = loaded.weights().at("pos_embed").floats();
        const auto expected = one["position"]["values"].get<std::vector<float>>();
        const std::size_t dim = 24, step = 31;
        ASSERT_EQ(expected.size(), ((positions.size() / dim - 1) / step + 1) * dim);
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(positions[i / dim * step * dim + i % dim], expected[i], 1e-6) << i;

        const auto [height, width] = loaded.spec().architecture->common().image_size;
        const Tensor images = golden::pattern("input", {1, 3, height, width});
        const auto values = one["features"]["values"].get<std::vector<float>>();
        const Tensor features = Tensor::of({1, std::int64_t(dim)}, values);
        test::expect_close(Session(loaded).run(images).at("features"), features, 1e-5, "engine");
        const Graph graph = record(loaded.spec());
        test::expect_close(run_reference(graph, images, loaded.weights()).at("features"), features,
                           1e-5, "reference");
    }
}

TEST_F(Dinov2, TimmsNamesAndItsClassTokenLoad) {
    const Model model = Model::load(e2e_data("tiny_dinov2_timm.safetensors"),
                                    "vit_giant_patch14_reg4_dinov2", kDinov2Tiny);
    EXPECT_THAT(model.notes(), IsEmpty());
    const Tensor features = read_npy(e2e_data("tiny_dinov2_features.npy"));
    const Tensor images = read_npy(e2e_data("images.npy"));
    test::expect_close(Session(model).run(images).at("features"), features, 1e-5, "features");
    // And back: the class token has taken its position in.
    std::map<std::string, Tensor> ours;
    for (const NamedTensor& entry : alias_weights(model)) ours[entry.name] = entry.tensor;
    for (const NamedTensor& entry :
         open_weights(e2e_data("tiny_dinov2_timm.safetensors")).tensors) {
        ASSERT_TRUE(ours.contains(entry.name)) << entry.name;
        EXPECT_EQ(ours.at(entry.name).shape(), entry.tensor.shape()) << entry.name;
        EXPECT_TRUE(std::ranges::equal(ours.at(entry.name).floats(), entry.tensor.floats()))
            << entry.name;
    }
}

TEST_F(Dinov2, APositionOfTheClassTokenGoesIntoItUnderTimmsNames) {
    const Model model = Model::create("vit_small_patch14_reg4_dinov2", kDinov2Tiny, 1);
    write_safetensors(path_, alias_weights(model), model.metadata());
    const Model again = Model::load(path_);  // our own file under timm's names
    EXPECT_EQ(again.settings(), model.settings());
    const Tensor images = golden::pattern("input", {2, 3, 16, 16});
    test::expect_close(Session(again).run(images).at("features"),
                       Session(model).run(images).at("features"), 1e-6, "features");
    // Without registers timm keeps Meta's form.
    const Model plain = Model::create("vit_small_patch14_dinov2", kDinov2Tiny, 1);
    for (const NamedTensor& entry : alias_weights(plain))
        EXPECT_EQ(entry.tensor.shape(), plain.weights().at(entry.name).shape());
}

TEST_F(Dinov2, ABackboneGivesFeaturesAndNoLogits) {
    const Model model = Model::create("vit_small_patch14_dinov2", kDinov2Tiny, 1);
    EXPECT_FALSE(model.weights().contains("head.weight"));
    EXPECT_TRUE(record(model.spec()).outputs.contains("features"));
    EXPECT_THAT(refusal([&] { record(model.spec(), {.taps = {"logits"}}); }),
                HasSubstr("vit_small_patch14_dinov2: expected classes for 'logits', found none"));
    const Classifier classifier(model);
    const Tensor images = golden::pattern("input", {2, 3, 16, 16});
    EXPECT_THAT(refusal([&] { classifier.classify(images, 1); }), HasSubstr("model.classes"));
}

TEST_F(Dinov2, ABackboneGetsAHeadForTheClassesAskedFor) {
    const Model backbone = Model::create("vit_small_patch14_dinov2", kDinov2Tiny, 1);
    publish(backbone.weights());
    const Model model =
        Model::load(path_, "vit_small_patch14_dinov2", dinov2_with(kDinov2Tiny, {{"classes", "7"}}),
                    {.allow_fresh_head = true});
    EXPECT_THAT(model.notes(), ElementsAre("head rebuilt for 7 classes: the file has none"));
    EXPECT_TRUE(model.has_fresh_head());
    EXPECT_EQ(model.weights().at("head.weight").shape(), (Shape{7, 16}));
    // Our own file of a backbone, too; but one that says it has a head must have it.
    backbone.save(path_);
    EXPECT_TRUE(
        Model::load(path_, "", {{"classes", "7"}}, {.allow_fresh_head = true}).has_fresh_head());
    EXPECT_EQ(backbone.with_classes({"a", "b"}).weights().at("head.bias").shape(), (Shape{2}));
    std::vector<NamedTensor> headless;
    for (const auto& [name, tensor] : model.weights())
        if (!name.starts_with("head.")) headless.push_back({name, tensor});
    write_safetensors(path_, headless, model.metadata());
    EXPECT_THAT(refusal([&] { Model::load(path_); }),
                HasSubstr("2 missing: head.weight [7, 16], head.bias [7]"));
    // A head that a backbone does without is left out.
    model.save(path_);
    EXPECT_THAT(Model::load(path_, "", {{"classes", "0"}}).notes(),
                ElementsAre("head left out: the model is set to do without it"));
}

TEST_F(Dinov2, HalfAHeadIsNoBackbone) {
    std::map<std::string, Tensor> weights =
        Model::create("deit_tiny_patch16_224", dinov2_with(kDinov2Tiny, {{"classes", "3"}}), 1)
            .weights();
    weights.erase("head.bias");
    publish(weights);
    EXPECT_THAT(refusal([&] {
                    Model::load(path_, "deit_tiny_patch16_224",
                                dinov2_with(kDinov2Tiny, {{"classes", "3"}}));
                }),
                HasSubstr("1 missing: head.bias [3]"));
}

TEST_F(Dinov2, DinosTrainingFilesLoadIntoVitAndDeit) {
    const Tensor features = read_npy(e2e_data("tiny_dino_features.npy"));
    const Tensor images = read_npy(e2e_data("images.npy"));
    const WeightFile file = open_weights(e2e_data("tiny_dino.pth"));
    EXPECT_THAT(file.skipped, Contains("head.last_layer.weight_v"));
    EXPECT_THAT(file.skipped, Contains("student"));
    for (const char* model : {"vit_tiny_patch16_224", "deit_tiny_patch16_224"}) {
        const Model loaded =
            Model::load(e2e_data("tiny_dino.pth"), model,
                        dinov2_with(kDinov2Tiny, {{"classes", "3"}}), {.allow_fresh_head = true});
        EXPECT_THAT(loaded.notes(),
                    ElementsAre("the file has a teacher and a student: the teacher is taken",
                                "head rebuilt for 3 classes: the file has none"));
        test::expect_close(Session(loaded).run(images, {"features"}).at("features"), features, 1e-5,
                           model);
    }
}

}  // namespace
}  // namespace cait
