// What `cait train` decides and says before the first step: what validates, how large a batch is
// and in how many parts it goes, how long the warm-up is; and what it leaves when it cannot start.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cait/model.h"
#include "e2e/train_run.h"
#include "system/isa.h"

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

    // That both runs have the same weights, but for rounding, and have moved.
    void expect_near(const std::string& run, const std::string& other) const {
        const Model a = Model::load(path(run + "/last.safetensors"));
        const Model b = Model::load(path(other + "/last.safetensors"));
        EXPECT_NE(state(run), state(other)) << "one of them was not worked through in parts";
        ASSERT_EQ(a.weights().size(), b.weights().size());
        for (const auto& [name, tensor] : a.weights()) {
            const std::span<const float> x = tensor.floats(), y = b.weights().at(name).floats();
            float most = 0;
            for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
            EXPECT_LT(most, 1e-5F) << name;
        }
    }

    // How likely the weights of a run take a black image for each class.
    std::map<std::string, double> answers_to_black(const std::string& run) const {
        const Finished answer = cait({"predict", "--weights", path(run + "/last.safetensors"),
                                      path("val/red/0.png"), "--top", "3", "--json"});
        EXPECT_EQ(answer.status, 0) << answer.err;
        const nlohmann::json parsed = nlohmann::json::parse(answer.out);
        std::map<std::string, double> found;
        for (const auto& one : parsed.at(0).at("predictions")) found[one["label"]] = one["score"];
        return found;
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

TEST_F(TrainStart, TheInstructionSetDecidesOnThePrecision) {
    const Words words{"--set", "train.precision=auto", "--epochs", "1"};
    for (const Isa isa : kIsas) {
        if (!processor_has(isa)) continue;
        const std::string name(isa_name(isa));
        const Variable cap("CAIT_ISA", name.c_str());
        const Finished run = cait(recipe(name, words));
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_THAT(run.err,
                    HasSubstr(fmt::format("train.precision=auto: {}, as {} has",
                                          isa >= Isa::avx512_bf16 ? "bf16" : "fp32", name)));
    }
}

TEST_F(TrainStart, ASmallDataSetLowersTheBatch) {
    const Finished run = cait(recipe("run", {"--batch", "64", "--epochs", "1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("data.batch 64 -> 48: there are 48 training images"));
    EXPECT_THAT(read(path("run/recipe.toml")), HasSubstr("batch = 48"));
}

TEST_F(TrainStart, AShortRunShortensItsWarmUpAndAnotherRateMovesNothingElse) {
    const Finished print = cait({"train", "small", "--epochs", "1", "--lr", "1e-4", "--print"});
    ASSERT_EQ(print.status, 0) << print.err;
    EXPECT_THAT(print.err, HasSubstr("schedule.warmup 2 -> 0.0667, to fit schedule.epochs 1"));
    EXPECT_THAT(print.err, Not(HasSubstr("min_lr")));
    EXPECT_THAT(print.out, HasSubstr("\nlr = 0.0001\n"));
    EXPECT_THAT(print.out, HasSubstr("\nmin_lr = 1e-05\n"));
}

// 3.2e-3 for 256 images is 1e-4 for 8; the ends stay unless they are to go with it.
TEST_F(TrainStart, TheHeaderHasTheRatesOfTheBatch) {
    const Words words{"--epochs", "1",
                      "--set",    "optim.lr_batch=256",
                      "--lr",     "3.2e-3",
                      "--set",    "schedule.warmup=0.5",
                      "--set",    "schedule.warmup_lr=1e-6"};
    const Finished fixed = cait(recipe("fixed", words));
    ASSERT_EQ(fixed.status, 0) << fixed.err;
    EXPECT_THAT(fixed.out, HasSubstr("learning rate up to 0.0001, from 1e-06, to 1e-05\n"));
    Words more = words;
    more.insert(more.end(), {"--set", "schedule.scale_ends=true"});
    const Finished scaled = cait(recipe("scaled", more));
    EXPECT_THAT(scaled.out, HasSubstr("up to 0.0001, from 3.12e-08, to 3.13e-07\n"));
    more = words;
    more.insert(more.end(), {"--lr", "1e-4"});
    EXPECT_THAT(cait(recipe("rising", more)).err,
                HasSubstr("the learning rate ends above its peak"));
}

TEST_F(TrainStart, AKeyWithoutEffectIsRefused) {
    const auto with = [&](const Words& more) { return cait(recipe("run", more)); };
    expect_refused(with({"--set", "distill.teacher=" + path("t.safetensors")}), 2,
                   {"distill.teacher: has no effect", "distill.kind", "--allow-unused"});
    expect_refused(with({"--set", "model.class_insert=1"}), 2,
                   {"model.class_insert: has no effect", "model.class_stage=token"});
    EXPECT_FALSE(std::filesystem::exists(path("run")));
    write("mine.toml", "base = \"small\"\n[optim]\nmomentum = 0.5\n");
    expect_refused(cait({"train", path("mine.toml"), "--print"}), 2,
                   {"mine.toml:3: optim.momentum: has no effect", "optim.name=sgd"});
    EXPECT_EQ(cait({"train", path("mine.toml"), "--print", "--allow-unused"}).status, 0);
    const Finished run = with({"--epochs", "1", "--set", "model.class_insert=1", "--allow-unused"});
    EXPECT_EQ(run.status, 0) << run.err;
    // Its recipe repeats the run without the word.
    const Finished again = cait({"train", path("run/recipe.toml"), "--print"});
    EXPECT_EQ(again.status, 0) << again.err;
}

TEST_F(TrainStart, SmallTrainsAVolo) {
    const Finished run =
        cait({"train", "small", "--model", "volo_d1_224", "--data", "folder:" + path("train"),
              "--val", "folder:" + path("val"), "--out", path("run"), "--batch", "16", "--epochs",
              "1", "--set", "model.image_size=32", "--set", "model.layers=1,1,0,0"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("model.aux_head true -> false"));
}

// Memory that a batch does not fit into: parts of it do, and the run is the same but for rounding.
TEST_F(TrainStart, ChoosesPartsByTheMemory) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    // By plain gradient descent: Adam would make a step of what rounding leaves of a zero.
    const Words larger = {"--batch",  "48",
                          "--epochs", "2",
                          "--set",    "model.image_size=128",
                          "--set",    "model.dim=64",
                          "--set",    "optim.name=sgd",
                          "--set",    "model.drop_path=0.2",
                          "--set",    "augment.mixup=0.8",
                          "--set",    "augment.cutmix=1"};
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
    expect_near("whole", "parts");

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

// All images are black, so that a network can learn no more than how much each class counts: two of
// 34 images by their number, a third by the inverse of that.
TEST_F(TrainStart, CountsRareClassesMore) {
    for (const char* part : {"train", "val"})
        for (const auto& file : std::filesystem::recursive_directory_iterator(folder_ / part))
            if (file.is_regular_file()) write_image(file.path(), Image::blank(16, 16, 3));
    for (int i = 2; i < 16; ++i)
        std::filesystem::remove(folder_ / fmt::format("train/red/{}.png", i));
    const auto red = [&](const std::string& kind) {
        Words words{"--batch", "34", "--epochs", "40"};
        for (const std::string& setting :
             {std::string("loss.smoothing=0"), std::string("model.drop_path=0"),
              std::string("optim.lr=0.02"), std::string("eval.every=40"),
              std::string("train.ema=0"), "loss.class_weights=" + kind}) {
            words.emplace_back("--set");
            words.push_back(setting);
        }
        const Finished run = cait(recipe(kind, words));
        EXPECT_EQ(run.status, 0) << run.err;
        return answers_to_black(kind).at("red");
    };
    EXPECT_NEAR(red("none"), 2.0 / 34, 0.02);
    EXPECT_NEAR(red("inverse"), 1.0 / 3, 0.03);
    // Each counts by the root: 2 / sqrt(2) of 2 / sqrt(2) + 2 * 16 / sqrt(16).
    EXPECT_NEAR(red("root"), std::sqrt(2.0) / (std::sqrt(2.0) + 8), 0.02);
    const Finished bce = cait(recipe("bce", {"--set", "loss.class_weights=inverse", "--set",
                                             "loss.name=bce", "--set", "loss.smoothing=0"}));
    EXPECT_EQ(bce.status, 2);
    EXPECT_THAT(bce.err, HasSubstr("loss.class_weights: expected loss.name cross_entropy"));
}

// Images that are in no part would be counted, and never seen.
TEST_F(TrainStart, EveryImageOfABatchIsInAPart) {
    const Finished run =
        cait(recipe("run", {"--batch", "60", "--set", "optim.accumulate=5", "--epochs", "1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("data.batch 60 -> 45: there are 48 training images"));
    const Finished refused =
        cait(recipe("refused", {"--batch", "8", "--set", "optim.accumulate=8", "--nproc", "2"}));
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("optim.accumulate: expected a divisor of the 4 images"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

}  // namespace
}  // namespace cait::e2e
