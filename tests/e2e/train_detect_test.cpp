// Training a detector: going on after a kill, several processes, a backbone that stays as it is,
// and what is refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "e2e/trained_runs.h"
#include "support/tiny_detector.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class TrainDetect : public TrainedRuns {
protected:
    TrainDetect() {
        squares("seen", 10);
        squares("unseen", 3);
    }

    // 64 pixels wide and 40 to 60 high: none to two bright squares on noise, and COCO's JSON.
    void squares(const std::string& part, int count) const {
        RandomStream random(3, part);
        std::filesystem::create_directories(folder_ / part);
        json file{{"images", json::array()},
                  {"annotations", json::array()},
                  {"categories", {{{"id", 4}, {"name", "red"}}, {{"id", 9}, {"name", "green"}}}}};
        for (int i = 0; i < count; ++i) {
            const std::int64_t height = 40 + 10 * (i % 3);
            Image image = Image::blank(64, height, 3);
            for (std::uint8_t& value : image.pixels) value = std::uint8_t(random.bits() % 60);
            for (int o = 0; o < i % 3; ++o) {
                const std::int64_t side = 14 + i, left = 2 + 28 * o, top = 3 + i % 5;
                for (std::int64_t y = top; y < top + side; ++y)
                    for (std::int64_t x = left; x < left + side; ++x)
                        image.row(y)[3 * x + (i + o) % 2] = 220;
                const std::int64_t right = left + side, bottom = top + side;
                file["annotations"].push_back(
                    {{"id", file["annotations"].size() + 1},
                     {"image_id", i + 1},
                     {"category_id", (i + o) % 2 == 0 ? 4 : 9},
                     {"bbox", {left, top, side, side}},
                     {"area", side * side},
                     {"iscrowd", 0},
                     {"segmentation", {{left, top, right, top, right, bottom, left, bottom}}}});
            }
            const std::string name = fmt::format("{}.png", i);
            write_image(folder_ / part / name, image);
            file["images"].push_back(
                {{"id", i + 1}, {"file_name", name}, {"width", 64}, {"height", height}});
        }
        write(part + ".json", file.dump());
    }

    std::string data(const std::string& part) const {
        return "coco:" + path(part + ".json") + "?images=" + path(part);
    }

    Words detect(const std::string& run, const std::string& length,
                 const Words& settings = {}) const {
        Words words = {"train",        "detect", "--data",  data("seen"), "--val",
                       data("unseen"), "--out",  path(run), "--batch",    "4"};
        const Words common = {"model.name=resnet50",
                              "model.image_size=64",
                              "model.width=4",
                              "model.blocks=1,1,1,1",
                              "head.width=16",
                              "head.hidden=32",
                              "detect.anchors=32",
                              "detect.regions=24",
                              "detect.proposals=100",
                              "schedule.warmup_steps=0",
                              "train.precision=fp32",
                              "train.threads=1",
                              length};
        for (const std::string& setting : common + settings)
            words = words + Words{"--set", setting};
        return words;
    }
};

TEST_F(TrainDetect, AFileKeepsTheSizesOfItsHead) {
    test::tiny_detector().save(path("known.safetensors"));
    Words words = {
        "train", "detect",    "--data",  data("seen"), "--val",     data("unseen"),
        "--out", path("run"), "--batch", "4",          "--weights", path("known.safetensors")};
    for (const char* setting : {"detect.anchors=32", "detect.regions=24", "detect.proposals=100",
                                "schedule.warmup_steps=0", "train.threads=1", "schedule.epochs=1"})
        words = words + Words{"--set", setting};
    train(words);
    const auto settings = last("run").settings();
    EXPECT_EQ(settings.at("head.width"), "16");
    EXPECT_EQ(settings.at("head.hidden"), "32");
    EXPECT_EQ(settings.at("head.classes"), "2");
}

TEST_F(TrainDetect, RecordsThePartsOfTheLossAndTheScores) {
    train(detect("run", "schedule.epochs=2"));
    const std::vector<json> steps = metrics("run", "train");
    ASSERT_FALSE(steps.empty());
    for (const char* part : {"rpn_class", "rpn_box", "box_class", "box", "mask"})
        EXPECT_TRUE(steps.front().contains(part)) << steps.front().dump();
    const std::vector<json> scores = metrics("run", "val");
    ASSERT_EQ(scores.size(), 2U);
    for (const char* score : {"box_ap", "box_ap50", "mask_ap", "mask_ap75"})
        EXPECT_TRUE(scores.back().contains(score)) << scores.back().dump();
    for (const char* file : {"run/last.safetensors", "run/best.safetensors"}) {
        const Model model = Model::load(path(file));
        EXPECT_THAT(model.classes(), ElementsAre("red", "green"));
        EXPECT_EQ(model.task().name, "detect");
    }
    const std::string report = read(path("run/report.html"));
    for (const char* part : {"Precision and recall", "mask AP75", "Each class", "Worst images",
                             "labelled: ", "predicted: ", "F1 at scores from"})
        EXPECT_THAT(report, HasSubstr(part));
}

TEST_F(TrainDetect, KilledOrStoppedItGoesOnToTheSameFile) {
    expect_the_same_after_signals([&](const std::string& run) {
        return detect(run, "train.steps=30", {"save.steps=1", "eval.every=50"});
    });
}

// SGD: Adam would blow up what rounding leaves of a gradient.
TEST_F(TrainDetect, TwoProcessesEqualOne) {
    const Words settings = {"optim.name=sgd", "optim.lr=0.01"};
    train(detect("one", "train.steps=4", settings));
    train(detect("two", "train.steps=4", settings) + Words{"--nproc", "2"});
    train(detect("parts", "train.steps=4", settings + Words{"optim.accumulate=2"}));
    EXPECT_LT(difference(last("one"), last("two")), 1e-4F);
    EXPECT_LT(difference(last("one"), last("parts")), 1e-4F);
    const json first = metrics("one", "val").back(), second = metrics("two", "val").back();
    EXPECT_NEAR(first["box_ap"].get<double>(), second["box_ap"].get<double>(), 1e-3);
}

TEST_F(TrainDetect, AHeadAloneLeavesTheBackboneAsItIs) {
    train(detect("start", "train.steps=1", {"train.seed=5"}));
    train(detect("run", "train.steps=3", {"train.tune=head"}) +
          Words{"--weights", path("start/last.safetensors")});
    const Model start = last("start"), tuned = last("run");
    std::size_t kept = 0, learned = 0;
    for (const auto& [name, tensor] : start.weights()) {
        const bool same = std::ranges::equal(tensor.floats(), tuned.weights().at(name).floats());
        const bool head = name.starts_with("neck.") || name.starts_with("rpn_head.") ||
                          name.starts_with("roi_head.");
        EXPECT_EQ(same, !head) << name;
        ++(head ? learned : kept);
    }
    EXPECT_GT(kept, 40U);
    EXPECT_GT(learned, 20U);
}

TEST_F(TrainDetect, FrozenNormsStayAsTheyAre) {
    train(detect("start", "train.steps=1", {"train.seed=5"}));
    const auto norms_changed = [&](const std::string& run, const std::string& frozen) {
        train(detect(run, "train.steps=2", {"train.frozen_norms=" + frozen}) +
              Words{"--weights", path("start/last.safetensors")});
        const Model start = last("start"), tuned = last(run);
        std::size_t changed = 0;
        for (const auto& [name, tensor] : start.weights())
            if (name.find("bn") != std::string::npos &&
                !std::ranges::equal(tensor.floats(), tuned.weights().at(name).floats()))
                ++changed;
        return changed;
    };
    EXPECT_EQ(norms_changed("frozen", "true"), 0U);
    EXPECT_GT(norms_changed("moving", "false"), 10U);
}

TEST_F(TrainDetect, WithoutMasksOnlyBoxesAreLearned) {
    train(detect("run", "train.steps=2", {"head.masks=false"}));
    EXPECT_FALSE(metrics("run", "train").back().contains("mask"));
    EXPECT_FALSE(metrics("run", "val").back().contains("mask_ap"));
    const Model trained = last("run");
    for (const auto& [name, tensor] : trained.weights())
        EXPECT_EQ(name.find("mask_head"), std::string::npos) << name;
}

TEST_F(TrainDetect, WhatMakesNoSenseIsRefused) {
    expect_refused(cait(detect("run", "train.steps=1", {"augment.mixup=0.8"})), 2,
                   {"augment.mixup: expected 0", "boxes are not mixed"});
    Words folder = detect("run", "train.steps=1");
    folder[3] = "folder:" + path("train");
    expect_refused(cait(folder), 1, {"expected data with boxes for loss.name mask_rcnn"});
    EXPECT_FALSE(std::filesystem::exists(path("run")));
}

}  // namespace
}  // namespace cait::e2e
