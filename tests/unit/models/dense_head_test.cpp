// Heads that give every pixel a class: sizes, settings, files of ours and of mmseg, other classes
// and other images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/image_size.h"
#include "cait/model.h"
#include "cait/session.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "support/near.h"
#include "support/small_models.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

SettingList dense_deit(const SettingList& more = {}) {
    SettingList settings{{"image_size", "64"}, {"patch", "16"},      {"dim", "16"},
                         {"depth", "4"},       {"heads", "2"},       {"head.kind", "upernet"},
                         {"head.width", "8"},  {"head.classes", "3"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

// A small model with such a head, on images of enough patches for a pyramid.
SettingList dense_settings(const test::SmallPreset& preset, const char* kind) {
    SettingList settings = preset.settings;
    std::erase_if(settings, [](const auto& one) { return one.first == "classes"; });
    settings.insert(
        settings.end(),
        {{"image_size", "64"}, {"head.kind", kind}, {"head.classes", "3"}, {"head.width", "8"}});
    return settings;
}

constexpr const char* kDenseDeit = "deit_tiny_patch16_224";

std::string dense_refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was refused";
}

Shape shape_of(const ModelSpec& spec, const std::string& tap, const RecordOptions& options = {}) {
    RecordOptions all = options;
    all.taps = {tap};
    const Graph graph = record(spec, all);
    return graph.node(graph.outputs.at(tap)).shape;
}

// Tables 5.3 and 6.12 of Touvron's thesis, in millions. Of table 4.6, which prints none, the sums
// of trunk, neck and heads.
TEST(DenseHead, HasTheParametersOfThePublishedTables) {
    const std::pair<const char*, double> published[] = {
        {"deit3_tiny_patch16_upernet_512", 10.9},  {"deit3_small_patch16_upernet_512", 41.7},
        {"deit3_base_patch16_upernet_512", 127.7}, {"deit3_large_patch16_upernet_512", 353.6},
        {"patchconvnet_s60_upernet_512", 57.1},    {"patchconvnet_b60_upernet_512", 140.6},
        {"patchconvnet_b120_upernet_512", 229.8},  {"patchconvnet_l120_upernet_512", 383.7},
        {"resmlp_12_upernet_224", 46.85},          {"resmlp_24_upernet_224", 61.5},
        {"resmlp_36_upernet_224", 76.2},           {"resmlp_big_24_patch16_upernet_224", 156.2}};
    for (const auto& [name, millions] : published) {
        std::int64_t params = 0;
        for (const ParamSpec& spec : record(configure(name)).params)
            if (spec.role.kind != ParamRole::Kind::statistic) params += spec.shape.count();
        EXPECT_NEAR(double(params) * 1e-6, millions, 0.05) << name;
    }
}

TEST(DenseHead, AnswersForEveryPixelOfEveryFamily) {
    for (const test::SmallPreset& preset : test::small_presets()) {
        if (preset.name.find("multi") != std::string::npos) continue;  // needs its classes
        for (const char* kind : {"upernet", "linear_map"}) {
            SCOPED_TRACE(preset.name);
            const ModelSpec spec = configure(preset.name, dense_settings(preset, kind));
            const Shape shape = shape_of(spec, "segmentation");
            EXPECT_EQ(shape[1], 3);
            EXPECT_EQ(default_taps(spec), std::vector<std::string>{"segmentation"});
            EXPECT_EQ(class_count(spec), 3);
            EXPECT_THAT(offered_taps(spec), Not(Contains("logits")));
            EXPECT_THAT(offered_taps(spec), Contains("features"));
        }
    }
}

TEST(DenseHead, HasLevelsAtAQuarterOfTheImage) {
    EXPECT_EQ(shape_of(configure(kDenseDeit, dense_deit()), "segmentation"),
              (Shape{Shape::kBatch, 3, 16, 16}));
    EXPECT_EQ(
        shape_of(configure(kDenseDeit, dense_deit({{"head.pyramid", "taps"}})), "segmentation"),
        (Shape{Shape::kBatch, 3, 4, 4}));
    EXPECT_EQ(
        shape_of(configure(kDenseDeit, dense_deit({{"head.pyramid", "mln"}})), "segmentation"),
        (Shape{Shape::kBatch, 3, 16, 16}));
}

TEST(DenseHead, HasASecondOutputInTrainingOnly) {
    const ModelSpec spec = configure(kDenseDeit, dense_deit());
    EXPECT_EQ(shape_of(spec, "segmentation_auxiliary", {.mode = Mode::train}),
              (Shape{Shape::kBatch, 3, 4, 4}));
    EXPECT_THROW(shape_of(spec, "segmentation_auxiliary"), UsageError);
    const Graph training = record(spec, {.mode = Mode::train});
    EXPECT_EQ(training.outputs.size(), 2U);
    EXPECT_EQ(record(spec).params.size(), training.params.size());
    const Graph single = record(configure(kDenseDeit, dense_deit({{"head.auxiliary", "-1"}})),
                                {.mode = Mode::train});
    EXPECT_EQ(single.outputs.size(), 1U);
}

TEST(DenseHead, TapsBlocksByDepth) {
    const auto blocks = [](Pyramid pyramid, MapsOf maps, std::int64_t depth) {
        return tapped_blocks({.pyramid = pyramid}, maps, depth);
    };
    EXPECT_THAT(blocks(Pyramid::scales, MapsOf::blocks, 12), ElementsAre(3, 5, 7, 11));
    EXPECT_THAT(blocks(Pyramid::scales, MapsOf::blocks, 24), ElementsAre(7, 11, 15, 23));
    EXPECT_THAT(blocks(Pyramid::scales, MapsOf::blocks, 36), ElementsAre(11, 17, 23, 35));
    EXPECT_THAT(blocks(Pyramid::taps, MapsOf::blocks, 12), ElementsAre(2, 5, 8, 11));
    EXPECT_THAT(blocks(Pyramid::mln, MapsOf::blocks, 12), ElementsAre(2, 5, 8, 11));
    EXPECT_THAT(blocks(Pyramid::scales, MapsOf::last_block, 60), ElementsAre(59, 59, 59, 59));
    EXPECT_THAT(blocks(Pyramid::scales, MapsOf::blocks, 1), ElementsAre(0, 0, 0, 0));
}

TEST(DenseHead, RefusesWhatDoesNotGoTogether) {
    const auto refused = [](const char* model, const SettingList& settings) {
        return dense_refusal([&] { record(configure(model, settings)); });
    };
    EXPECT_THAT(refused(kDenseDeit, dense_deit({{"head.pyramid", "stages"}})),
                HasSubstr("head.pyramid: expected scales, taps or mln"));
    EXPECT_THAT(refused("resnet50", {{"head.kind", "upernet"}, {"head.pyramid", "taps"}}),
                HasSubstr("head.pyramid: expected stages"));
    EXPECT_THAT(refused(kDenseDeit, dense_deit({{"head.taps", "0,1,2,4"}})),
                HasSubstr("head.taps: expected blocks 0 to 3, found 0,1,2,4"));
    EXPECT_THAT(refused(kDenseDeit, dense_deit({{"head.taps", "0,1,2"}})),
                HasSubstr("expected auto or 4 blocks"));
    EXPECT_THAT(refused(kDenseDeit, dense_deit({{"head.predictor", "8"}})),
                HasSubstr("head.predictor: expected 0"));
    EXPECT_THAT(
        dense_refusal([] { record(configure(kDenseDeit, dense_deit()), {.taps = {"logits"}}); }),
        HasSubstr("expected classes for 'logits'"));
}

class DenseModel : public testing::Test {
protected:
    DenseModel()
        : path_(std::filesystem::path(testing::TempDir()) /
                (std::string("dense_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors")) {}
    ~DenseModel() override { std::filesystem::remove(path_); }

    static Tensor answer(const Model& model) {
        const Tensor images = test::random_images(model.spec(), 1);
        return run_reference(record(model.spec()), images, model.weights()).at("segmentation");
    }

    std::filesystem::path path_;
};

TEST_F(DenseModel, IsSavedAndLoadedWithClassesColoursAndTask) {
    Model model = Model::create(kDenseDeit, dense_deit(), 3);
    EXPECT_EQ(model.task().name, "segment");
    EXPECT_EQ(model.task().ignore, 255);
    model.set_classes({"sky", "road", "car"});
    Task task = model.task();
    task.colours = {{1, 2, 3}, {4, 5, 6}, {7, 8, 255}};
    task.ignore = 11;
    model.set_task(task);
    model.save(path_);
    const Model again = Model::load(path_);
    EXPECT_EQ(again.settings(), model.settings());
    EXPECT_EQ(again.task(), task);
    EXPECT_THAT(again.classes(), ElementsAre("sky", "road", "car"));
    EXPECT_THAT(again.notes(), IsEmpty());
    EXPECT_FALSE(again.has_fresh_head());
    test::expect_within(answer(again), answer(model), 0, "answers");
    task.colours.pop_back();
    EXPECT_THAT(dense_refusal([&] { model.set_task(task); }),
                HasSubstr("colours: expected one for each of 3 classes, found 2"));
}

TEST_F(DenseModel, GetsItsHeadOnALoadedTrunk) {
    SettingList plain{{"image_size", "64"}, {"patch", "16"}, {"dim", "16"},
                      {"depth", "4"},       {"heads", "2"},  {"classes", "5"}};
    const Model trunk = Model::create(kDenseDeit, plain, 3);
    const Model dense =
        trunk.with_head({{"head.kind", "upernet"}, {"head.width", "8"}, {"head.classes", "3"}}, 7);
    EXPECT_TRUE(dense.has_fresh_head());
    EXPECT_EQ(dense.task().name, "segment");
    EXPECT_EQ(dense.settings().at("classes"), "0");
    EXPECT_FALSE(dense.weights().contains("head.weight"));
    EXPECT_TRUE(std::ranges::equal(dense.weights().at("blocks.1.attn.qkv.weight").floats(),
                                   trunk.weights().at("blocks.1.attn.qkv.weight").floats()));
    EXPECT_EQ(answer(dense).shape(), (Shape{1, 3, 16, 16}));
    const Model back = dense.with_head({{"head.kind", "none"}});
    EXPECT_EQ(back.task().name, "classify");
    EXPECT_FALSE(back.weights().contains("decode_head.conv_seg.weight"));
    // The head of the same file is kept.
    EXPECT_FALSE(
        Model::create(kDenseDeit, dense_deit())
            .with_head({{"head.kind", "upernet"}, {"head.width", "8"}, {"head.classes", "3"}})
            .has_fresh_head());
}

TEST_F(DenseModel, LoadsATrunkAloneWhereAFreshHeadIsAllowed) {
    const Model trunk = Model::create(kDenseDeit, {{"image_size", "64"},
                                                   {"patch", "16"},
                                                   {"dim", "16"},
                                                   {"depth", "4"},
                                                   {"heads", "2"},
                                                   {"classes", "5"}});
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : trunk.weights()) tensors.push_back({name, tensor});
    write_safetensors(path_, tensors, {});
    EXPECT_THAT(dense_refusal([&] { Model::load(path_, kDenseDeit, dense_deit()); }),
                HasSubstr("decode_head rebuilt: the file has none"));
    const Model dense = Model::load(path_, kDenseDeit, dense_deit(), {.allow_fresh_head = true});
    EXPECT_TRUE(dense.has_fresh_head());
    EXPECT_TRUE(std::ranges::equal(dense.weights().at("blocks.0.mlp.fc1.weight").floats(),
                                   trunk.weights().at("blocks.0.mlp.fc1.weight").floats()));
}

TEST_F(DenseModel, MovesClassesByName) {
    Model model = Model::create(kDenseDeit, dense_deit(), 3);
    model.set_classes({"sky", "road", "car"});
    const Model moved = model.with_classes({"car", "tree", "sky", "sea"});
    EXPECT_EQ(moved.settings().at("head.classes"), "4");
    EXPECT_EQ(moved.settings().at("classes"), "0");
    EXPECT_TRUE(moved.has_fresh_head());
    for (const char* head : {"decode_head", "auxiliary_head"}) {
        const std::string name = std::string(head) + ".conv_seg.weight";
        const Tensor &before = model.weights().at(name), &after = moved.weights().at(name);
        const std::size_t row = before.floats().size() / 3;
        EXPECT_EQ(after.shape()[0], 4);
        EXPECT_TRUE(std::ranges::equal(after.floats().first(row), before.floats().last(row)));
        EXPECT_TRUE(
            std::ranges::equal(after.floats().subspan(2 * row, row), before.floats().first(row)));
    }
}

TEST_F(DenseModel, TakesImagesOfAnotherSize) {
    const Model model = Model::create(kDenseDeit, dense_deit(), 3);
    const Model wide = model.at_size({96, 64});
    EXPECT_EQ(wide.settings().at("image_size"), "96x64");
    EXPECT_EQ(wide.weights().at("pos_embed").shape(), (Shape{1, 25, 16}));
    EXPECT_EQ(wide.weights().size(), model.weights().size());
    EXPECT_EQ(answer(wide).shape(), (Shape{1, 3, 24, 16}));
    // As loading does it.
    model.save(path_);
    const Model loaded = Model::load(path_, {}, {{"image_size", "96x64"}});
    test::expect_within(wide.weights().at("pos_embed"), loaded.weights().at("pos_embed"), 0,
                        "positions");
    EXPECT_EQ(wide.task(), model.task());
    EXPECT_THROW(model.at_size({90, 64}), UsageError);
}

// As mmseg publishes UPerNet on DeiT: no last norm, one matrix for queries, keys and values.
TEST_F(DenseModel, LoadsFilesOfMmseg) {
    const SettingList settings = dense_deit({{"head.pyramid", "taps"}, {"head.auxiliary", "3"}});
    const Model model = Model::create(kDenseDeit, settings, 3);
    const std::pair<const char*, const char*> parts[] = {
        {".norm1.", ".ln1."},
        {".norm2.", ".ln2."},
        {".attn.qkv.weight", ".attn.attn.in_proj_weight"},
        {".attn.qkv.bias", ".attn.attn.in_proj_bias"},
        {".attn.proj.", ".attn.attn.out_proj."},
        {".mlp.fc1.", ".ffn.layers.0.0."},
        {".mlp.fc2.", ".ffn.layers.1."},
        {"patch_embed.proj.", "patch_embed.projection."},
        {"blocks.", "layers."}};
    std::vector<NamedTensor> tensors;
    for (const auto& [official, tensor] : model.weights()) {
        if (official.starts_with("norm.")) continue;
        std::string name = official;
        for (const auto& [ours, theirs] : parts)
            if (const std::size_t at = name.find(ours); at != std::string::npos)
                name.replace(at, std::string_view(ours).size(), theirs);
        const bool head = name.starts_with("decode_head.") || name.starts_with("auxiliary_head.");
        tensors.push_back({head ? name : "backbone." + name, tensor});
    }
    write_safetensors(path_, tensors, {});
    SettingList other = settings;
    std::erase_if(other, [](const auto& one) { return one.first == "head.classes"; });
    const Model loaded = Model::load(path_, kDenseDeit, other);
    EXPECT_EQ(class_count(loaded.spec()), 3);
    EXPECT_FALSE(loaded.has_fresh_head());
    EXPECT_EQ(loaded.task().name, "segment");
    test::expect_within(answer(loaded), answer(model), 0, "answers");
}

TEST_F(DenseModel, LoadsMmsegsResnetWithADeepStem) {
    const SettingList settings{{"image_size", "64"},  {"width", "4"},
                               {"blocks", "1,1,1,1"}, {"deep_stem", "true"},
                               {"stem_kernel", "3"},  {"head.kind", "upernet"},
                               {"head.width", "8"},   {"head.classes", "3"}};
    const Model model = Model::create("resnet50", settings, 3);
    std::vector<NamedTensor> tensors;
    for (const auto& [official, tensor] : model.weights()) {
        std::string name = official;
        if (name.starts_with("conv1.")) name.replace(0, 5, "stem");
        if (name.starts_with("bn1.")) name.replace(0, 3, "stem.7");
        const bool head = name.starts_with("decode_head.") || name.starts_with("auxiliary_head.");
        tensors.push_back({head ? name : "backbone." + name, tensor});
    }
    write_safetensors(path_, tensors, {});
    test::expect_within(answer(Model::load(path_, "resnet50", settings)), answer(model), 0,
                        "answers");
}

// Both heads on a trunk of every family.
TEST_F(DenseModel, RunsInTheEngineAsInTheReference) {
    for (const std::string& family : test::family_names()) {
        const test::SmallPreset preset = test::distinct_small_presets(family).front();
        for (const char* kind : {"upernet", "linear_map"}) {
            SCOPED_TRACE(preset.name + " " + kind);
            const SettingList settings = dense_settings(preset, kind);
            const Graph graph = record(configure(preset.name, settings));
            const Model model =
                Model::create(preset.name, settings).with_weights(test::lively_weights(graph));
            const Tensor images = test::random_images(model.spec(), 2);
            const Tensor expected =
                run_reference(graph, images, model.weights()).at("segmentation");
            SessionOptions options;
            options.threads = 2;
            const Session full(model, options);
            test::expect_close(full.run(images).at("segmentation"), expected, 2e-5, "fp32");
            options.precision = Precision::bf16;
            const Session narrow(model, options);
            test::expect_close(narrow.run(images).at("segmentation"), expected, 0.1, "bf16");
        }
    }
}

}  // namespace
}  // namespace cait
