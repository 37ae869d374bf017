// Training a class for every pixel: the length of a run in steps, going on, several processes, a
// trunk that stays as it is, and what the model file says of the classes.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "e2e/trained_runs.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class TrainSegment : public TrainedRuns {
protected:
    TrainSegment() {
        pixels("train", 10);
        pixels("val", 2);
        write("pixels/classes.txt", "road 200 10 10\nsky 10 200 10\nred car 10 10 200\n");
    }

    // 32x32, in three areas of a colour each with noise; the first row has no class.
    void pixels(const std::string& part, int count) const {
        RandomStream random(2, part);
        const std::filesystem::path place = folder_ / "pixels" / part;
        for (const char* folder : {"images", "labels"})
            std::filesystem::create_directories(place / folder);
        for (int i = 0; i < count; ++i) {
            Image image = Image::blank(32, 32, 3), labels = Image::blank(32, 32, 1);
            for (std::int64_t y = 0; y < 32; ++y)
                for (std::int64_t x = 0; x < 32; ++x) {
                    const int label = y > 19 && x < 10 ? 2 : x < 8 + 2 * i % 20 ? 0 : 1;
                    labels.row(y)[x] = std::uint8_t(y == 0 ? 255 : label);
                    for (int c = 0; c < 3; ++c)
                        image.row(y)[3 * x + c] =
                            std::uint8_t((c == label ? 130 : 60) + int(random.bits() % 60));
                }
            write_image(place / fmt::format("images/{}.png", i), image);
            write_image(place / fmt::format("labels/{}.png", i), labels);
        }
    }

    // Two steps of four images an epoch.
    Words segment(const std::string& run, int steps, const Words& settings = {}) const {
        Words words = {"train", "segment", "--data",  "segmentation:" + path("pixels"),
                       "--out", path(run), "--batch", "4"};
        const Words common = {"model.name=deit_tiny_patch16_224",
                              "model.image_size=32",
                              "model.patch=8",
                              "model.dim=24",
                              "model.depth=2",
                              "model.heads=2",
                              "head.width=8",
                              "head.auxiliary_width=8",
                              "schedule.warmup=0",
                              "train.precision=fp32",
                              "train.threads=1",
                              fmt::format("train.steps={}", steps)};
        for (const std::string& setting : common + settings)
            words = words + Words{"--set", setting};
        return words;
    }
};

TEST_F(TrainSegment, ARunInStepsEndsInTheMiddleOfAnEpoch) {
    train(segment("run", 5));
    const std::vector<json> steps = metrics("run", "train");
    ASSERT_EQ(steps.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(steps[i]["step"], i + 1);
        // Poly of power 1 without a warm-up.
        EXPECT_NEAR(steps[i]["lr"].get<double>(), 5e-4 * (1 - double(i) / 5), 1e-12);
    }
    EXPECT_EQ(steps.back()["epoch"], 2.5);
    const std::vector<json> scores = metrics("run", "val");
    ASSERT_EQ(scores.size(), 3U);  // after two epochs and at the end
    EXPECT_EQ(scores.back()["step"], 5);
    EXPECT_EQ(scores.back()["epoch"], 2.5);
    EXPECT_EQ(last("run").training().at("steps"), "5");
    EXPECT_EQ(last("run").training().at("epochs"), "2.50");
    for (const char* part : {"Worst images", "predicted: ", "latest epoch (2.5)"})
        EXPECT_THAT(read(path("run/report.html")), HasSubstr(part));
    const Finished again = cait({"train", "--resume", path("run")});
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("nothing is left to do"));
    EXPECT_EQ(metrics("run", "train").size(), 5U);
}

TEST_F(TrainSegment, KilledOrStoppedItGoesOnToTheSameFile) {
    expect_the_same_after_signals([&](const std::string& run) {
        return segment(run, 81, {"save.steps=1", "eval.every=20"});
    });
}

// SGD: Adam would blow up what rounding leaves of the gradient of a bias before a batch norm.
TEST_F(TrainSegment, TwoProcessesEqualOneWhereBatchNormsAreSynchronised) {
    const auto trained = [&](const std::string& run, int processes, const std::string& sync) {
        train(
            segment(run, 5, {"optim.name=sgd", "optim.lr=0.05", "train.sync_batch_norms=" + sync}) +
            Words{"--nproc", std::to_string(processes)});
        return last(run);
    };
    const Model one = trained("one", 1, "true");
    EXPECT_LT(difference(one, trained("two", 2, "true")), 1e-5F);
    // Each for itself they see the statistics of half the batch.
    EXPECT_GT(difference(one, trained("apart", 2, "false")), 1e-3F);
}

TEST_F(TrainSegment, AHeadAloneLeavesTheTrunkAsItIs) {
    train(segment("start", 1, {"train.seed=5"}));
    train(segment("run", 5, {"train.tune=head"}) +
          Words{"--weights", path("start/last.safetensors")});
    const Model start = last("start"), tuned = last("run");
    ASSERT_EQ(start.weights().size(), tuned.weights().size());
    std::size_t trunk = 0, learned = 0;
    for (const auto& [name, tensor] : start.weights()) {
        const Tensor& found = tuned.weights().at(name);
        const bool same = std::ranges::equal(tensor.floats(), found.floats());
        const bool statistic = name.find(".running_") != std::string::npos;
        if (name.starts_with("decode_head.")) {
            EXPECT_FALSE(same) << name;
            // Not rebuilt: five steps of at most 5e-4.
            if (!statistic) {
                EXPECT_LT(difference(tensor, found), 0.01F) << name;
            }
            ++learned;
        } else if (name.starts_with("blocks.") || name.starts_with("patch_embed.") ||
                   name.starts_with("norm.") || name == "pos_embed" || name == "cls_token") {
            EXPECT_TRUE(same) << name;
            ++trunk;
        }
    }
    EXPECT_EQ(trunk, 30U);  // two blocks of twelve, two each of embedding and norm, two alone
    EXPECT_GT(learned, 30U);
}

TEST_F(TrainSegment, TheModelFileKeepsNamesAndColoursOfTheClasses) {
    train(segment("run", 1));
    for (const char* file : {"run/last.safetensors", "run/best.safetensors"}) {
        const Model model = Model::load(path(file));
        EXPECT_THAT(model.classes(), ElementsAre("road", "sky", "red car"));
        EXPECT_EQ(model.task().name, "segment");
        using Rgb = std::array<std::uint8_t, 3>;
        EXPECT_THAT(model.task().colours,
                    ElementsAre(Rgb{200, 10, 10}, Rgb{10, 200, 10}, Rgb{10, 10, 200}));
        EXPECT_EQ(model.task().ignore, 255);
        EXPECT_EQ(model.weights().at("decode_head.conv_seg.weight").shape()[0], 3);
    }
}

TEST_F(TrainSegment, WhatMixesImagesIsRefused) {
    for (const char* setting : {"augment.mixup=0.8", "augment.cutmix=1"}) {
        expect_refused(cait(segment("run", 1, {setting})), 2,
                       {"augment.mixup: expected 0", "label images are not mixed"});
        EXPECT_FALSE(std::filesystem::exists(path("run")));
    }
}

// As for classes of images: fixed from the start, and not those that the run would have made.
TEST_F(TrainSegment, ScalesOfAnEarlierRunAreKept) {
    const Words model{"model.name=cait_xxs24_224", "model.class_layers=1"};
    ASSERT_NO_FATAL_FAILURE(train(segment("first", 2, model)));
    ASSERT_NO_FATAL_FAILURE(train(
        segment("again", 2, model + Words{"model.scales=" + path("first/last.safetensors")})));
    const Model first = last("first"), again = last("again");
    std::size_t scales = 0;
    for (const auto& [name, tensor] : again.weights()) {
        if (name.find("gamma") == std::string::npos) continue;
        ++scales;
        EXPECT_TRUE(std::ranges::equal(tensor.floats(), first.weights().at(name).floats())) << name;
    }
    EXPECT_GE(scales, 4U);  // two in each of two blocks
}

}  // namespace
}  // namespace cait::e2e
