// Heads that find objects: sizes, settings, the three parts of their graph, files of ours, of
// mmdetection and of torchvision, other classes and other images.
#include "models/detection_head.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/philox.h"
#include "cait/model.h"
#include "cait/quantize.h"
#include "cait/session.h"
#include "graph/reference.h"
#include "models/catalogue.h"
#include "models/model_cost.h"
#include "models/task.h"
#include "support/near.h"
#include "support/small_models.h"
#include "support/tiny_detector.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

SettingList detector_settings(const test::SmallPreset& preset, const SettingList& more = {}) {
    SettingList settings = preset.settings;
    std::erase_if(settings, [](const auto& one) { return one.first == "classes"; });
    settings.insert(settings.end(), {{"image_size", "64"},
                                     {"head.kind", "mask_rcnn"},
                                     {"head.classes", "3"},
                                     {"head.width", "8"},
                                     {"head.hidden", "12"}});
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

std::string detection_refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was refused";
}

Shape tap_shape(const ModelSpec& spec, const std::string& tap) {
    const Graph graph = record(spec, {.taps = {tap}});
    return graph.node(graph.outputs.at(tap)).shape;
}

std::vector<std::string> input_names(const ModelSpec& spec, const std::vector<std::string>& taps) {
    std::vector<std::string> names;
    for (const op::Input& input : record(spec, {.taps = taps}).inputs())
        names.push_back(input.name);
    return names;
}

Tensor random_regions(std::int64_t count, std::int64_t width, std::int64_t bins) {
    Tensor regions = Tensor::empty(DType::f32, {count, width, bins, bins});
    RandomStream random(5, "regions");
    for (float& value : regions.mutable_floats()) value = random.normal();
    return regions;
}

// Table 5.6 of Touvron's thesis says 44.9 and 67.4, half a million less, which a linear patch stem
// would explain; the sum of trunk, neck and heads is this.
TEST(DetectionHead, HasTheParametersOfTrunkNeckAndHeads) {
    EXPECT_NEAR(double(model_cost(configure("patchconvnet_s60_mask_rcnn")).params) * 1e-6, 45.4,
                0.05);
    EXPECT_NEAR(double(model_cost(configure("patchconvnet_s120_mask_rcnn")).params) * 1e-6, 67.9,
                0.05);
    // torchvision's 44,401,393 are without gains and shifts of 53 batch norms, 26,560 channels.
    EXPECT_EQ(model_cost(configure("maskrcnn_resnet50_fpn")).params, 44'401'393 + 2 * 26'560);
}

TEST(DetectionHead, CountsTheSecondStageForTheRegionsOfAnImage) {
    const ModelSpec spec = configure("resnet50_mask_rcnn");
    const auto macs = [&](const std::vector<std::string>& taps) {
        return estimate_cost(record(spec, {.taps = taps})).macs;
    };
    EXPECT_EQ(macs(box_taps()), 256 * 49 * 1024 + 1024 * 1024 + 1024 * (81 + 320));
    EXPECT_EQ(model_cost(spec).macs, macs(proposal_taps()) + 1000 * macs(box_taps()) +
                                         100 * macs(mask_taps(spec.head.detection)));
}

TEST(DetectionHead, HasThreePartsOnEveryFamily) {
    for (const test::SmallPreset& preset : test::small_presets()) {
        if (preset.name.find("multi") != std::string::npos) continue;  // needs its classes
        SCOPED_TRACE(preset.name);
        const ModelSpec spec = configure(preset.name, detector_settings(preset));
        const std::int64_t b = Shape::kBatch;
        const std::int64_t sides[] = {16, 8, 4, 2, 1};
        for (std::size_t i = 0; i < kPyramidLevels; ++i) {
            const std::int64_t side = sides[i];
            EXPECT_EQ(tap_shape(spec, fmt::format("pyramid.{}", i)), (Shape{b, 8, side, side}));
            EXPECT_EQ(tap_shape(spec, fmt::format("objectness.{}", i)), (Shape{b, 3, side, side}));
            EXPECT_EQ(tap_shape(spec, fmt::format("anchor_deltas.{}", i)),
                      (Shape{b, 12, side, side}));
        }
        EXPECT_EQ(tap_shape(spec, "box_logits"), (Shape{b, 4}));
        EXPECT_EQ(tap_shape(spec, "box_deltas"), (Shape{b, 12}));
        EXPECT_EQ(tap_shape(spec, "mask_logits"), (Shape{b, 3, 28, 28}));
        EXPECT_EQ(class_count(spec), 3);
        EXPECT_THAT(offered_taps(spec), Not(Contains("logits")));
        EXPECT_THAT(offered_taps(spec), Contains("features"));
    }
}

TEST(DetectionHead, TakesWhatItsTapsNeed) {
    const Model model = test::tiny_detector();
    const ModelSpec& spec = model.spec();
    EXPECT_THAT(input_names(spec, proposal_taps()), ElementsAre("images"));
    EXPECT_THAT(input_names(spec, {"box_logits", "box_deltas"}), ElementsAre("box_regions"));
    EXPECT_THAT(input_names(spec, {"mask_logits"}), ElementsAre("mask_regions"));
    EXPECT_THAT(input_names(spec, {}), ElementsAre("images", "box_regions", "mask_regions"));
    EXPECT_EQ(default_taps(spec), proposal_taps());
    EXPECT_TRUE(reads_images(spec, {}));
    EXPECT_TRUE(reads_images(spec, std::vector<std::string>{"box_logits", "objectness.0"}));
    EXPECT_FALSE(reads_images(spec, std::vector<std::string>{"box_logits", "box_deltas"}));
    EXPECT_TRUE(reads_class_head("box_logits") && reads_class_head("box_deltas"));
    EXPECT_FALSE(reads_class_head("objectness.0"));
}

TEST(DetectionHead, TorchvisionsLayersHaveTheBackgroundEverywhere) {
    const Model model = test::tiny_detector({.torchvision = true});
    const ModelSpec& spec = model.spec();
    EXPECT_EQ(tap_shape(spec, "box_logits"), (Shape{Shape::kBatch, 4}));
    EXPECT_EQ(tap_shape(spec, "box_deltas"), (Shape{Shape::kBatch, 16}));
    EXPECT_EQ(tap_shape(spec, "mask_logits"), (Shape{Shape::kBatch, 4, 28, 28}));
    EXPECT_TRUE(region_rules(spec.head.detection).background_first);
    EXPECT_FALSE(region_rules(spec.head.detection).aligned);
    EXPECT_EQ(region_rules(DetectionConfig()), RegionRules());
}

TEST(DetectionHead, CanDoWithoutMasks) {
    const Model model = test::tiny_detector({.masks = false});
    const ModelSpec& spec = model.spec();
    EXPECT_THAT(offered_taps(spec), Not(Contains("mask_logits")));
    for (const ParamSpec& param : record(spec).params)
        EXPECT_THAT(param.name, Not(HasSubstr("mask_head")));
    EXPECT_THAT(mask_taps(spec.head.detection), IsEmpty());
    EXPECT_THROW(record(spec, {.taps = {"mask_logits"}}), UsageError);
}

TEST(DetectionHead, ResizesLevelsOfOtherStrides) {
    const SettingList settings{{"patch", "14"},
                               {"dim", "16"},
                               {"depth", "3"},
                               {"heads", "2"},
                               {"head.width", "8"},
                               {"head.hidden", "12"},
                               {"head.kind", "mask_rcnn"}};
    const auto with_size = [&](const char* size) {
        SettingList all = settings;
        all.emplace_back("image_size", size);
        return configure("deit_tiny_patch16_224", all);
    };
    EXPECT_EQ(tap_shape(with_size("224"), "pyramid.0"), (Shape{Shape::kBatch, 8, 56, 56}));
    EXPECT_EQ(tap_shape(with_size("224"), "pyramid.3"), (Shape{Shape::kBatch, 8, 7, 7}));
    EXPECT_THAT(detection_refusal([&] { record(with_size("238")); }),
                HasSubstr("image_size: expected multiples of 32"));
}

TEST(DetectionHead, KeysOfSeveralHeadsHaveTheDefaultOfTheirOwn) {
    const ModelSpec upernet = configure("resnet50", {{"head.kind", "upernet"}});
    EXPECT_EQ(upernet.settings().at("head.width"), "512");
    const ModelSpec detector = configure("resnet50", {{"head.kind", "mask_rcnn"}});
    const std::map<std::string, std::string> settings = detector.settings();
    EXPECT_EQ(settings.at("head.width"), "256");
    EXPECT_EQ(settings.at("head.hidden"), "1024");
    EXPECT_EQ(settings.at("head.classes"), "80");
    EXPECT_EQ(settings.at("head.masks"), "true");
    EXPECT_EQ(settings.at("head.convention"), "mmdet");
    EXPECT_EQ(settings.at("classes"), "0");
    EXPECT_EQ(settings.count("head.auxiliary"), 0U);
    // Whatever comes first.
    const ModelSpec narrow =
        configure("resnet50", {{"head.width", "32"}, {"head.kind", "mask_rcnn"}});
    EXPECT_EQ(narrow.head.detection.width, 32);
    EXPECT_EQ(configure("resnet50", SettingList(settings.begin(), settings.end())).settings(),
              settings);
}

TEST(DetectionHead, RefusesPyramidsWithoutStrides) {
    const auto refused = [](const char* model, const SettingList& settings) {
        return detection_refusal([&] { record(configure(model, settings)); });
    };
    EXPECT_THAT(
        refused("deit_tiny_patch16_224", {{"head.kind", "mask_rcnn"}, {"head.pyramid", "taps"}}),
        HasSubstr("head.pyramid: expected scales or stages"));
    EXPECT_THAT(refused("resnet50", {{"head.kind", "mask_rcnn"}, {"head.pyramid", "scales"}}),
                HasSubstr("head.pyramid: expected stages"));
    EXPECT_THAT(refused("resnet50", {{"head.kind", "mask_rcnn"}, {"head.predictor", "8"}}),
                HasSubstr("head.predictor: expected 0, as the head answers for every region"));
}

// All parts on a trunk of every family.
TEST(DetectionHead, RunsInTheEngineAsInTheReference) {
    for (const std::string& family : test::family_names()) {
        const test::SmallPreset preset = test::distinct_small_presets(family).front();
        SCOPED_TRACE(preset.name);
        const Graph whole = record(configure(preset.name, detector_settings(preset)));
        const Model model = Model::create(preset.name, detector_settings(preset))
                                .with_weights(test::lively_weights(whole));
        const std::tuple<std::string, Tensor, std::vector<std::string>> parts[] = {
            {"images", test::random_images(model.spec(), 2), proposal_taps()},
            {"box_regions", random_regions(5, 8, 7), box_taps()},
            {"mask_regions", random_regions(3, 8, 14), mask_taps(model.spec().head.detection)}};
        for (const auto& [name, input, taps] : parts) {
            const auto expected =
                run_reference(record(model.spec(), {.taps = taps}),
                              NamedInputs<Tensor>{{name, input}}, model.weights());
            for (const auto& [precision, bound] :
                 {std::pair(Precision::fp32, 2e-5), std::pair(Precision::bf16, 0.1),
                  std::pair(Precision::int8, 0.5)}) {
                SessionOptions options;
                options.threads = 2;
                options.precision = precision;
                const Session session(model, options);
                const auto found = session.run(NamedInputs<Tensor>{{name, input}}, taps);
                ASSERT_EQ(found.size(), expected.size());
                for (const auto& [tap, tensor] : expected)
                    test::expect_close(found.at(tap), tensor, bound, tap);
            }
        }
    }
}

TEST(DetectionSession, KeepsOnePlanOfRegionsForImagesOfAllSizes) {
    const Model model = test::tiny_detector();
    const Session session(model);
    const auto run = [&](std::int64_t height, std::int64_t width, std::int64_t regions) {
        Tensor images = Tensor::zeros(DType::f32, {1, 3, height, width});
        EXPECT_EQ(session.run(images).size(), proposal_taps().size());
        EXPECT_EQ(session.run(random_regions(regions, 16, 7), box_taps()).size(), 2U);
        // Tensors that the taps do not need are left alone.
        const NamedInputs<Tensor> both{{"images", images},
                                       {"mask_regions", random_regions(regions, 16, 14)}};
        EXPECT_EQ(session.run(both, {"mask_logits"}).at("mask_logits").shape()[0], regions);
    };
    run(64, 64, 5);
    EXPECT_EQ(session.plans(), 3U);
    run(96, 64, 200);
    EXPECT_EQ(session.plans(), 4U);
}

TEST(DetectionSession, AnswersDoNotDependOnHowManyRegionsThereAre) {
    const Session session(test::tiny_detector());
    const Tensor all = random_regions(70, 16, 7);
    const Tensor together = session.run(all, box_taps()).at("box_logits");
    const Tensor first = Tensor::view(DType::f32, {1, 16, 7, 7}, all.floats().data(), all.owner());
    const Tensor alone = session.run(first, box_taps()).at("box_logits");
    EXPECT_TRUE(std::ranges::equal(alone.floats(), together.floats().first(4)));
}

class DetectionModel : public testing::Test {
protected:
    DetectionModel()
        : path_(std::filesystem::path(testing::TempDir()) /
                (std::string("detection_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors")) {}
    ~DetectionModel() override { std::filesystem::remove(path_); }

    static void expect_same_weights(const Model& found, const Model& expected) {
        ASSERT_EQ(found.weights().size(), expected.weights().size());
        for (const auto& [name, tensor] : expected.weights())
            test::expect_within(found.weights().at(name), tensor, 0, name);
    }

    std::filesystem::path path_;
};

TEST_F(DetectionModel, IsSavedAndLoadedWithClassesAndTask) {
    Model model = test::tiny_detector();
    EXPECT_EQ(model.task().name, "detect");
    EXPECT_EQ(model.task().threshold, 0.05);
    Task task = model.task();
    task.threshold = 0.3;
    model.set_task(task);
    model.save(path_);
    const Model again = Model::load(path_);
    EXPECT_EQ(again.settings(), model.settings());
    EXPECT_EQ(again.task(), task);
    EXPECT_THAT(again.classes(), ElementsAre("circle", "square", "star"));
    EXPECT_THAT(again.notes(), IsEmpty());
    EXPECT_FALSE(again.has_fresh_head());
    expect_same_weights(again, model);
    EXPECT_EQ(task_row(kDetect).name, "detect");
}

TEST_F(DetectionModel, GetsItsHeadOnALoadedTrunk) {
    const Model trunk = Model::create(
        "resnet50",
        {{"image_size", "64"}, {"width", "4"}, {"blocks", "1,1,1,1"}, {"classes", "5"}});
    const SettingList head{{"head.kind", "mask_rcnn"}, {"head.width", "8"}, {"head.classes", "3"}};
    const Model detector = trunk.with_head(head, 7);
    EXPECT_TRUE(detector.has_fresh_head());
    EXPECT_EQ(detector.task().name, "detect");
    EXPECT_EQ(detector.settings().at("classes"), "0");
    EXPECT_FALSE(detector.weights().contains("fc.weight"));
    test::expect_within(detector.weights().at("layer3.0.conv2.weight"),
                        trunk.weights().at("layer3.0.conv2.weight"), 0, "trunk");
    detector.save(path_);
    const Model learned = Model::load(path_);
    EXPECT_FALSE(learned.with_head(head).has_fresh_head());
    SettingList without = head;
    without.emplace_back("head.masks", "false");
    const Model boxes = learned.with_head(without);
    EXPECT_FALSE(boxes.has_fresh_head());
    EXPECT_TRUE(boxes.with_head(head).has_fresh_head());  // the masks'
    const Model back = detector.with_head({{"head.kind", "none"}});
    EXPECT_EQ(back.task().name, "classify");
    EXPECT_FALSE(back.weights().contains("roi_head.bbox_head.fc_cls.weight"));
    EXPECT_EQ(detector.with_head({{"head.kind", "upernet"}, {"head.width", "8"}}).task().name,
              "segment");
}

TEST_F(DetectionModel, LoadsATrunkAloneWhereAFreshHeadIsAllowed) {
    const Model trunk = Model::create(
        "resnet50",
        {{"image_size", "64"}, {"width", "4"}, {"blocks", "1,1,1,1"}, {"classes", "5"}});
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : trunk.weights()) tensors.push_back({name, tensor});
    write_safetensors(path_, tensors, {});
    const SettingList settings = test::tiny_detector_settings();
    EXPECT_THAT(detection_refusal([&] { Model::load(path_, "resnet50", settings); }),
                HasSubstr("roi_head rebuilt: the file has none"));
    const Model detector = Model::load(path_, "resnet50", settings, {.allow_fresh_head = true});
    EXPECT_TRUE(detector.has_fresh_head());
    test::expect_within(detector.weights().at("conv1.weight"), trunk.weights().at("conv1.weight"),
                        0, "trunk");
}

TEST_F(DetectionModel, LearnsMasksOnTopOfAFileWithout) {
    const Model boxes = test::tiny_detector({.masks = false});
    boxes.save(path_);
    const SettingList with_masks{{"head.masks", "true"}};
    EXPECT_THAT(detection_refusal([&] { Model::load(path_, {}, with_masks); }),
                HasSubstr("roi_head.mask_head rebuilt: the file has none"));
    const Model both = Model::load(path_, {}, with_masks, {.allow_fresh_head = true});
    EXPECT_TRUE(both.has_fresh_head());
    EXPECT_TRUE(both.weights().contains("roi_head.mask_head.conv_logits.weight"));
    // And the other way round.
    test::tiny_detector().save(path_);
    const Model less = Model::load(path_, {}, {{"head.masks", "false"}});
    EXPECT_FALSE(less.has_fresh_head());
    EXPECT_THAT(less.notes(), Contains(HasSubstr("roi_head.mask_head left out")));
}

// As mmdetection saves it: the trunk with XCiT's levels below "backbone.".
TEST_F(DetectionModel, LoadsFilesOfMmdetection) {
    const Model model = test::tiny_detector({.of_one_size = true});
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : model.weights()) {
        if (name.starts_with("norm.")) continue;  // the pyramid does not read the last norm
        const bool trunk = !name.starts_with("neck.") && !name.starts_with("rpn_head.") &&
                           !name.starts_with("roi_head.");
        tensors.push_back({trunk ? "backbone." + name : name, tensor});
    }
    write_safetensors(path_, tensors, {});
    SettingList settings = test::tiny_detector_settings({.of_one_size = true});
    std::erase_if(settings, [](const auto& one) { return one.first == "head.classes"; });
    const Model loaded = Model::load(path_, "deit_tiny_patch16_224", settings);
    EXPECT_EQ(class_count(loaded.spec()), 3);
    EXPECT_FALSE(loaded.has_fresh_head());
    EXPECT_EQ(loaded.task().name, "detect");
    expect_same_weights(loaded, model);
}

std::string replaced(std::string name, std::string_view ours, std::string_view theirs) {
    if (const std::size_t at = name.find(ours); at != std::string::npos)
        name.replace(at, ours.size(), theirs);
    return name;
}

// The names of the published file, which an older torchvision wrote. All of them, and the newer
// ones, are in tests/golden/detection_test.cpp.
TEST_F(DetectionModel, LoadsFilesOfTorchvision) {
    const test::TinyDetector tiny{.torchvision = true};
    const Model model = test::tiny_detector(tiny);
    const std::pair<const char*, const char*> parts[] = {
        {"neck.lateral_convs.", "backbone.fpn.inner_blocks."},
        {"neck.fpn_convs.", "backbone.fpn.layer_blocks."},
        {"rpn_head.rpn_conv", "rpn.head.conv"},
        {"rpn_head.rpn_cls", "rpn.head.cls_logits"},
        {"rpn_head.rpn_reg", "rpn.head.bbox_pred"},
        {"roi_head.bbox_head.shared_fcs.0", "roi_heads.box_head.fc6"},
        {"roi_head.bbox_head.shared_fcs.1", "roi_heads.box_head.fc7"},
        {"roi_head.bbox_head.fc_cls", "roi_heads.box_predictor.cls_score"},
        {"roi_head.bbox_head.fc_reg", "roi_heads.box_predictor.bbox_pred"},
        {"roi_head.mask_head.convs.0.conv", "roi_heads.mask_head.mask_fcn1"},
        {"roi_head.mask_head.convs.1.conv", "roi_heads.mask_head.mask_fcn2"},
        {"roi_head.mask_head.convs.2.conv", "roi_heads.mask_head.mask_fcn3"},
        {"roi_head.mask_head.convs.3.conv", "roi_heads.mask_head.mask_fcn4"},
        {"roi_head.mask_head.upsample", "roi_heads.mask_predictor.conv5_mask"},
        {"roi_head.mask_head.conv_logits", "roi_heads.mask_predictor.mask_fcn_logits"}};
    std::vector<NamedTensor> tensors;
    for (const auto& [official, tensor] : model.weights()) {
        std::string name = official;
        for (const auto& [ours, theirs] : parts) name = replaced(name, ours, theirs);
        if (name.starts_with("backbone.fpn.")) name = replaced(name, ".conv.", ".");
        tensors.push_back({name == official ? "backbone.body." + name : name, tensor});
    }
    write_safetensors(path_, tensors, {});
    SettingList settings = test::tiny_detector_settings(tiny);
    std::erase_if(settings, [](const auto& one) { return one.first == "head.classes"; });
    const Model loaded = Model::load(path_, "resnet50", settings);
    EXPECT_EQ(class_count(loaded.spec()), 3);
    EXPECT_FALSE(loaded.has_fresh_head());
    expect_same_weights(loaded, model);
    // Of mmdetection's layers they are none, be there as many classes.
    EXPECT_THAT(
        detection_refusal([&] { Model::load(path_, "resnet50", test::tiny_detector_settings()); }),
        HasSubstr("does not fit the model"));
}

// Rows of logits, of four deltas and of masks move with their class; those of the background stay.
TEST_F(DetectionModel, MovesClassesByName) {
    for (const bool torchvision : {false, true}) {
        SCOPED_TRACE(torchvision ? "torchvision" : "mmdet");
        const Model model = test::tiny_detector({.torchvision = torchvision});
        const Model moved = model.with_classes({"star", "heart", "circle", "moon"});
        EXPECT_EQ(moved.settings().at("head.classes"), "4");
        EXPECT_EQ(moved.settings().at("classes"), "0");
        EXPECT_TRUE(moved.has_fresh_head());
        const auto rows = [](const Model& of, const std::string& name, std::int64_t begin,
                             std::int64_t count) {
            const Tensor& tensor = of.weights().at("roi_head." + name);
            const auto row = std::size_t(tensor.count() / tensor.shape()[0]);
            const auto part =
                tensor.floats().subspan(std::size_t(begin) * row, std::size_t(count) * row);
            return std::vector<float>(part.begin(), part.end());
        };
        const auto expect_moved = [&](const std::string& name, std::int64_t per_class,
                                      bool background) {
            const std::int64_t first = torchvision && background ? per_class : 0;
            const auto of_class = [&](const Model& of, std::int64_t index) {
                return rows(of, name, first + index * per_class, per_class);
            };
            EXPECT_EQ(of_class(moved, 0), of_class(model, 2)) << name;
            EXPECT_EQ(of_class(moved, 2), of_class(model, 0)) << name;
            if (name.ends_with("weight")) {
                EXPECT_NE(of_class(moved, 1), of_class(model, 1)) << name;
            }
            if (background) {
                EXPECT_EQ(rows(moved, name, torchvision ? 0 : 4 * per_class, per_class),
                          rows(model, name, torchvision ? 0 : 3 * per_class, per_class))
                    << name;
            }
        };
        for (const char* kind : {".weight", ".bias"}) {
            expect_moved(std::string("bbox_head.fc_cls") + kind, 1, true);
            expect_moved(std::string("bbox_head.fc_reg") + kind, 4, torchvision);
            expect_moved(std::string("mask_head.conv_logits") + kind, 1, torchvision);
        }
        test::expect_within(moved.weights().at("roi_head.bbox_head.shared_fcs.0.weight"),
                            model.weights().at("roi_head.bbox_head.shared_fcs.0.weight"), 0,
                            "shared");
    }
}

TEST_F(DetectionModel, ReplacesItsClassLayersForAnotherNumber) {
    test::tiny_detector().save(path_);
    const SettingList five{{"head.classes", "5"}};
    EXPECT_THAT(detection_refusal([&] { Model::load(path_, {}, five); }),
                HasSubstr("roi_head.bbox_head.fc_cls replaced: 3 -> 5 classes"));
    const Model model = Model::load(path_, {}, five, {.allow_fresh_head = true});
    EXPECT_TRUE(model.has_fresh_head());
    EXPECT_EQ(model.weights().at("roi_head.bbox_head.fc_reg.bias").shape(), (Shape{20}));
    EXPECT_THAT(model.classes(), IsEmpty());
}

TEST_F(DetectionModel, TakesImagesOfAnotherSize) {
    const Model model = test::tiny_detector({.of_one_size = true});
    const Model wide = model.at_size({96, 64});
    EXPECT_EQ(wide.settings().at("image_size"), "96x64");
    EXPECT_EQ(wide.weights().at("pos_embed").shape(), (Shape{1, 25, 16}));
    EXPECT_EQ(wide.weights().size(), model.weights().size());
    EXPECT_EQ(wide.task(), model.task());
    EXPECT_EQ(tap_shape(wide.spec(), "pyramid.0"), (Shape{Shape::kBatch, 16, 24, 16}));
}

TEST_F(DetectionModel, CanBeQuantised) {
    const Model model = test::tiny_detector({.of_one_size = true});
    QuantizeOptions options;
    options.smoothing = QuantizeOptions::Smoothing::off;
    const QuantizedModel small = quantize(model, test::random_images(model.spec(), 1), options);
    EXPECT_FALSE(small.model.quantized().empty());
    EXPECT_EQ(small.model.task(), model.task());
    small.model.save(path_);
    const Session session(Model::load(path_), {.precision = Precision::int8});
    EXPECT_EQ(session.run(random_regions(4, 16, 14), {"mask_logits"}).size(), 1U);
}

TEST_F(DetectionModel, AFileThatLiesAboutItsClassesIsRefusedBeforeAnythingIsMade) {
    Model model = test::tiny_detector();
    std::map<std::string, std::string> metadata = model.metadata();
    std::string& settings = metadata.at("cait.settings");
    settings = replaced(settings, "\"head.classes\":\"3\"", "\"head.classes\":\"900000\"");
    ASSERT_THAT(settings, HasSubstr("900000"));
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : model.weights()) tensors.push_back({name, tensor});
    write_safetensors(path_, tensors, metadata);
    EXPECT_THAT(detection_refusal([&] { Model::load(path_); }), HasSubstr("head.classes"));
}

}  // namespace
}  // namespace cait
