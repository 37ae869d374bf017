// What a run says of itself: the images that it leaves out, what it validates on and how sure that
// is, its teacher, and the files that it keeps.
#include <gmock/gmock.h>

#include "e2e/tiny_models.h"
#include "e2e/train_run.h"
#include "report/metrics_log.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class TrainFacts : public TrainRun {
protected:
    // Without validation data of its own.
    Words held_out(const std::string& run, const Words& more = {}) const {
        Words words = recipe(run, Words{"--epochs", "1"} + more);
        const auto val = std::ranges::find(words, "--val");
        words.erase(val, val + 2);
        return words;
    }

    std::int64_t last_step(const std::string& run) const {
        return read_metrics(folder_ / run / "metrics.jsonl").back().step;
    }
};

TEST_F(TrainFacts, TheLastBatchIsDroppedOrKeptAndNamed) {
    const Words batch{"--batch", "20", "--epochs", "1"};
    const Finished dropped = cait(recipe("dropped", batch));
    ASSERT_EQ(dropped.status, 0) << dropped.err;
    EXPECT_THAT(dropped.out, HasSubstr("8 images of each epoch left out, others each time "
                                       "(data.last_batch=drop)"));
    EXPECT_EQ(last_step("dropped"), 2);
    const Finished kept =
        cait(recipe("kept", batch + Words{"--set", "data.last_batch=keep", "--set",
                                          "optim.accumulate=4", "--set", "save.steps=1"}));
    ASSERT_EQ(kept.status, 0) << kept.err;
    EXPECT_THAT(kept.out, HasSubstr("the last batch of an epoch has 8 images"));
    EXPECT_THAT(kept.out, Not(HasSubstr("left out")));
    EXPECT_EQ(last_step("kept"), 3);
    const Finished whole = cait(recipe("whole", {"--epochs", "1"}));
    ASSERT_EQ(whole.status, 0) << whole.err;
    EXPECT_THAT(whole.out, Not(HasSubstr("last batch")));
    EXPECT_THAT(whole.out, Not(HasSubstr("left out")));
    // What a run was told stays with it.
    EXPECT_THAT(read(path("kept/recipe.toml")), HasSubstr("last_batch = \"keep\""));
}

TEST_F(TrainFacts, OnlyClassesThatAreValidatedAreClaimed) {
    for (int i = 1; i < 16; ++i)
        std::filesystem::remove(folder_ / fmt::format("train/red/{}.png", i));
    for (int i = 2; i < 16; ++i)
        std::filesystem::remove(folder_ / fmt::format("train/blue/{}.png", i));
    const Finished some = cait(held_out("some"));
    ASSERT_EQ(some.status, 0) << some.err;
    // One of sixteen, one of two, none of one.
    EXPECT_THAT(some.err, HasSubstr("of the 19 images, held out of 2 of the 3 classes by seed 0"));
    EXPECT_THAT(read(path("some/holdout.csv")), HasSubstr("/blue/"));
    EXPECT_THAT(read(path("some/holdout.csv")), Not(HasSubstr("/red/")));
}

TEST_F(TrainFacts, SaysHowSureAnAccuracyOfFewImagesIs) {
    const Finished run = cait(recipe("run", {"--epochs", "1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const auto intervals = [](const std::string& text) {
        std::size_t count = 0;
        for (std::size_t at = 0; (at = text.find("95 % interval ", at)) != std::string::npos; ++at)
            ++count;
        return count;
    };
    EXPECT_EQ(intervals(run.out), 3U);  // of the epoch, the final and the best one
    const Finished measured = cait(
        {"eval", "--weights", path("run/last.safetensors"), "--data", "folder:" + path("val")});
    ASSERT_EQ(measured.status, 0) << measured.err;
    EXPECT_EQ(intervals(measured.out), 1U);
}

TEST_F(TrainFacts, TheHeaderNamesTheTeacherItsFileAndNormalisation) {
    ASSERT_EQ(cait(recipe("teacher", {"--epochs", "1", "--set", "data.mean=half"})).status, 0);
    const Words taught{"--epochs", "1",
                       "--set",    "distill.kind=hard",
                       "--set",    "distill.teacher=" + path("teacher/last.safetensors")};
    const Finished other = cait(recipe("other", taught + Words{"--set", "data.mean=imagenet"}));
    ASSERT_EQ(other.status, 0) << other.err;
    EXPECT_THAT(other.out, HasSubstr("teacher  cait_"));
    EXPECT_THAT(other.out,
                HasSubstr(path("teacher/last.safetensors") +
                          ", 16 pixels, normalised by mean 0.5 0.5 0.5, std 0.5 0.5 0.5, its own "
                          "(the student: mean 0.485 0.456 0.406, std 0.229 0.224 0.225)"));
    const Finished same = cait(recipe("same", taught + Words{"--set", "data.mean=half"}));
    ASSERT_EQ(same.status, 0) << same.err;
    EXPECT_THAT(same.out, HasSubstr("std 0.5 0.5 0.5, as the student\n"));
    EXPECT_THAT(cait(recipe("alone", {"--epochs", "1"})).out, Not(HasSubstr("teacher")));
}

TEST_F(TrainFacts, KeepsTheAveragedWeightsOfEpochs) {
    ASSERT_EQ(cait(recipe("run", {"--set", "save.keep_every=2"})).status, 0);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run/epoch-0002.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run/epoch-0002_ema.safetensors"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run/epoch-0003_ema.safetensors"));
    const Finished measured = cait({"eval", "--weights", path("run/epoch-0002_ema.safetensors"),
                                    "--data", "folder:" + path("val")});
    EXPECT_EQ(measured.status, 0) << measured.err;
    ASSERT_EQ(cait(recipe("plain", {"--set", "save.keep_every=2", "--set", "train.ema=0"})).status,
              0);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "plain/epoch-0002_ema.safetensors"));
}

// TensorBoard compares runs by what was chosen, not by what is as it always is.
TEST_F(TrainFacts, TensorBoardGetsTheKeysThatAreNotAsUsual) {
    const Finished run =
        cait(recipe("run", {"--epochs", "1", "--set", "optim.weight_decay=0.0625"}));
    ASSERT_EQ(run.status, 0) << run.err;
    std::string events;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "run/tensorboard"))
        events += read(file.path().string());
    // A key and its value, a double: 0.0625 is 0x3fb0…
    EXPECT_THAT(events, HasSubstr("optim.weight_decay"));
    EXPECT_THAT(events, HasSubstr(std::string("\x00\x00\x00\x00\x00\x00\xb0\x3f", 8)));
    EXPECT_THAT(events, HasSubstr("model.name"));
    for (const char* usual : {"optim.beta1", "head.bottleneck", "data.max_bad"})
        EXPECT_THAT(events, Not(HasSubstr(usual)));
}

}  // namespace
}  // namespace cait::e2e
