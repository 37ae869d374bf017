// What `cait train` decides and says before the first step: what validates, how large a batch is
// and in how many parts it goes, how long the warm-up is; and what it leaves when it cannot start.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class TrainStart : public TrainRun {
protected:
    // The recipe's words without --val.
    Words without_val(const std::string& run, const Words& more = {}) const {
        Words words = recipe(run, more);
        const auto val = std::ranges::find(words, "--val");
        words.erase(val, val + 2);
        return words;
    }

    // "about 310 MB of memory", in bytes.
    static double memory_of(const std::string& header) {
        const std::size_t at = header.find("about ");
        if (at == std::string::npos) return 0;
        double value = 0;
        char unit = 0;
        std::istringstream(header.substr(at + 6)) >> value >> unit;
        return value * (unit == 'G' ? 1e9 : unit == 'M' ? 1e6 : unit == 'k' ? 1e3 : 0);
    }
};

// It used to validate on the images that it had trained on, and to call the best of that the best.
TEST_F(TrainStart, HoldsImagesOutWhereThereIsNoValidationPart) {
    const Finished run = cait(without_val("run", {"--set", "data.holdout=0.25"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("no validation data: 12 of the 48 images, held out of every "
                                   "class by seed 0"));
    EXPECT_THAT(run.out, HasSubstr(": 36 images, 3 classes; validation: 12 of the 48 images"));
    EXPECT_THAT(read(path("run/report.html")), HasSubstr("12 of the 48 images, held out"));

    // The list is a data set itself; none of its images was trained on.
    const Finished evaluated = cait({"eval", "--weights", path("run/last.safetensors"), "--data",
                                     "csv:" + path("run/holdout.csv"), "--json"});
    ASSERT_EQ(evaluated.status, 0) << evaluated.err;
    const auto json = nlohmann::json::parse(evaluated.out);
    EXPECT_EQ(json.at("images"), 12);
}

TEST_F(TrainStart, HoldsTheSameImagesOutWhenItGoesOn) {
    ASSERT_EQ(cait(without_val("whole")).status, 0);
    ASSERT_EQ(cait(without_val("parts", {"--epochs", "3", "--set", "save.steps=2"})).status, 0);
    colours("train", 20);  // images that join the folder do not move the division
    const std::string before = read(path("parts/holdout.csv"));
    const Finished again = cait({"train", "--resume", path("parts"), "--epochs", "4"});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(read(path("parts/holdout.csv")), before);
    EXPECT_THAT(again.out, HasSubstr("5 of the 60 images"));

    std::filesystem::remove(folder_ / "train/red/3.png");
    std::filesystem::remove_all(folder_ / "train/green");
    colours("train", 1);
    const Finished gone = cait({"train", "--resume", path("whole"), "--epochs", "4"});
    EXPECT_EQ(gone.status, 1);
    EXPECT_THAT(gone.err, HasSubstr("holdout.csv:"));
    EXPECT_THAT(gone.err, HasSubstr("any more"));
}

TEST_F(TrainStart, AFolderWithPartsIsValidatedOnItsOwn) {
    Words words = without_val("run", {"--epochs", "1"});
    *std::ranges::find(words, "folder:" + path("train")) = "folder:" + folder_.string();
    const Finished run = cait(words);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, Not(HasSubstr("held out")));
    EXPECT_THAT(run.out, HasSubstr("(24 images)"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run/holdout.csv"));
}

TEST_F(TrainStart, WithoutValidationTheLastWeightsAreNamed) {
    const Finished run = cait(without_val("run", {"--val", "none", "--epochs", "1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("run/last.safetensors"));
    EXPECT_THAT(run.out, Not(HasSubstr("best.safetensors")));
}

TEST_F(TrainStart, ASmallDataSetLowersTheBatch) {
    const Finished run = cait(recipe("run", {"--batch", "64", "--epochs", "1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("data.batch 64 -> 48: there are 48 training images"));
    EXPECT_THAT(read(path("run/recipe.toml")), HasSubstr("batch = 48"));
}

TEST_F(TrainStart, AShortRunShortensItsWarmUpAndAnotherRateMovesTheEnds) {
    const Finished print = cait({"train", "small", "--epochs", "1", "--lr", "1e-4", "--print"});
    ASSERT_EQ(print.status, 0) << print.err;
    EXPECT_THAT(print.err, HasSubstr("schedule.warmup 2 -> 0.0667, to fit schedule.epochs 1"));
    EXPECT_THAT(print.err, HasSubstr("with optim.lr: schedule.min_lr 1e-05 -> 1e-06"));
    const Finished given =
        cait({"train", "small", "--lr", "1e-4", "--set", "schedule.min_lr=5e-5", "--print"});
    EXPECT_THAT(given.err, Not(HasSubstr("min_lr")));
    EXPECT_THAT(given.out, HasSubstr("min_lr = 5e-05"));
}

// Memory that a batch does not fit into: parts of it do, and the run is the same but for rounding.
TEST_F(TrainStart, ChoosesPartsByTheMemory) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    const Words larger = {
        "--batch", "48", "--epochs", "1", "--set", "model.image_size=128", "--set", "model.dim=64"};
    const Finished whole = cait(recipe("whole", larger));
    ASSERT_EQ(whole.status, 0) << whole.err;
    EXPECT_THAT(whole.out, HasSubstr(" of memory"));
    EXPECT_THAT(read(path("whole/recipe.toml")), HasSubstr("accumulate = 1\n"));

    const double bytes = memory_of(whole.out);
    ASSERT_GT(bytes, 0);
    Words tight = larger;
    tight.insert(tight.end(),
                 {"--set", fmt::format("train.memory={:.3f}", 0.8 * bytes / (1 << 30))});
    const Finished parts = cait(recipe("parts", tight));
    ASSERT_EQ(parts.status, 0) << parts.err;
    EXPECT_THAT(parts.err, HasSubstr("optim.accumulate=auto: "));
    EXPECT_THAT(parts.out, HasSubstr("batch 48 in "));
    EXPECT_LE(memory_of(parts.out), 0.8 * bytes * 1.01);

    tight.insert(tight.end(), {"--set", "optim.accumulate=off"});
    const Finished refused = cait(recipe("refused", tight));
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("optim.accumulate=off: a batch of 48 images needs"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

TEST_F(TrainStart, AFailedStartLeavesNoHalfRun) {
    const Finished run = cait(recipe("run", {"--weights", path("missing.safetensors")}));
    EXPECT_EQ(run.status, 1);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(TrainStart, AFinishedRunSaysSo) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const Finished again = cait({"train", "--resume", path("run")});
    EXPECT_EQ(again.status, 0);
    EXPECT_THAT(again.out, HasSubstr("the run is finished"));
    EXPECT_THAT(again.out, Not(HasSubstr("epoch 1/1")));
}

TEST_F(TrainStart, PatienceEndsARun) {
    const Words words = {
        "--epochs",         "30", "--set", "train.patience=2", "--set", "optim.lr=1e-9", "--set",
        "schedule.min_lr=0"};
    const Finished run = cait(recipe("run", words));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("ended early: no better result in 2 epochs"));
    EXPECT_THAT(run.out, Not(HasSubstr("epoch 30/30")));
    EXPECT_THAT(cait({"train", "--resume", path("run")}).out, HasSubstr("the run is finished"));
}

TEST_F(TrainStart, FineTuningFromNothingSaysSo) {
    const Finished run = cait({"train", "finetune", "--data", "folder:" + path("train"), "--val",
                               "folder:" + path("val"), "--out", path("run"), "--epochs", "1",
                               "--set", "model.image_size=32", "--set", "model.dim=16", "--set",
                               "model.heads=2", "--set", "model.depth=1"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("starts from random weights"));
}

TEST_F(TrainStart, FindsALearningRateAndDrawsIt) {
    const Finished run = cait(recipe("run", {"--find-lr"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("try --lr "));
    EXPECT_THAT(read(path("run-lr.svg")), HasSubstr("<svg"));
    EXPECT_THAT(read(path("run-lr.csv")), HasSubstr("rate,loss\n1e-07,"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(TrainStart, CountsRareClassesMore) {
    for (int i = 2; i < 16; ++i)
        std::filesystem::remove(folder_ / fmt::format("train/red/{}.png", i));
    const Finished run = cait(recipe("run", {"--set", "loss.class_weights=inverse"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const Finished bce = cait(recipe("bce", {"--set", "loss.class_weights=inverse", "--set",
                                             "loss.name=bce", "--set", "loss.smoothing=0"}));
    EXPECT_EQ(bce.status, 2);
    EXPECT_THAT(bce.err, HasSubstr("loss.class_weights: expected loss.name cross_entropy"));
}

}  // namespace
}  // namespace cait::e2e
