// What a recipe may ask of training beyond labels and rates: token exchange, evaluation mode,
// scales of an earlier run, evaluation crops. Each as a user runs it.
#include <gmock/gmock.h>

#include <csignal>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "e2e/train_run.h"
#include "weights/npy.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class TrainModes : public TrainRun {
protected:
    // A VOLO of 64 pixels, 4 x 4 tokens: of fewer, no box has any.
    Words volo(const std::string& run, const Words& more = {}) const {
        Words words{"train", "volo",    "--data",   "folder:" + path("train"),
                    "--val", "none",    "--batch",  "8",
                    "--out", path(run), "--epochs", "2"};
        for (const char* setting :
             {"schedule.warmup=0", "schedule.cooldown=0", "model.image_size=64",
              "model.dims=24,48,48,48", "model.heads=2,4,4,4", "model.layers=1,1,1,1",
              "save.steps=1"}) {
            words.emplace_back("--set");
            words.emplace_back(setting);
        }
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }

    static std::vector<float> floats(const Tensor& tensor) {
        return {tensor.floats().begin(), tensor.floats().end()};
    }
};

TEST_F(TrainModes, ExchangedTokensComeBackTheSameAfterAStop) {
    ASSERT_EQ(cait(volo("whole")).status, 0);
    ASSERT_EQ(cait(volo("without", {"--set", "augment.mix_tokens=0"})).status, 0);
    EXPECT_NE(state("whole"), state("without"));
    Running run(volo("stopped"));
    const auto before = saved_at("stopped");
    ASSERT_TRUE(eventually([&] { return saved_at("stopped") != before || run.over(); }));
    run.signal(SIGKILL);
    run.wait();
    ASSERT_EQ(cait({"train", "--resume", path("stopped")}).status, 0);
    EXPECT_EQ(state("whole"), state("stopped"));
}

// Maps that name the colour of the image at every place.
TEST_F(TrainModes, TokensAreLabelledByMapsOfFiles) {
    const char* const names[] = {"blue", "green", "red"};
    for (std::size_t c = 0; c < 3; ++c)
        for (int i = 0; i < 16; ++i) {
            std::vector<float> map(2 * 3 * 4 * 4);
            for (std::size_t at = 0; at < 48; ++at) {
                map[at] = at < 16 ? 9.0F : 0.0F;
                map[48 + at] = float((c + at / 16) % 3);
            }
            std::filesystem::create_directories(folder_ / "maps" / names[c]);
            write_npy(folder_ / "maps" / names[c] / fmt::format("{}.npy", i),
                      Tensor::of({2, 3, 4, 4}, map));
        }
    const Words maps{"--set", "data.token_labels=" + path("maps")};
    const Finished whole = cait(volo("whole", maps));
    ASSERT_EQ(whole.status, 0) << whole.err;
    ASSERT_EQ(cait(volo("threads", maps + Words{"--set", "data.threads=1"})).status, 0);
    EXPECT_EQ(state("whole"), state("threads"));
    ASSERT_EQ(cait(volo("labels")).status, 0);
    EXPECT_NE(state("whole"), state("labels"));
    ASSERT_EQ(cait(volo("truth", maps + Words{"--set", "loss.class_target=blend"})).status, 0);
    EXPECT_NE(state("whole"), state("truth"));
    std::filesystem::remove(folder_ / "maps/red/3.npy");
    const Finished gap = cait(volo("gap", maps));
    EXPECT_EQ(gap.status, 1);
    EXPECT_THAT(gap.err, HasSubstr("maps/red/3.pt: expected the label map of"));
    expect_refused(cait(volo("mixed", maps + Words{"--set", "augment.cutmix=1"})), 2,
                   {"data.token_labels: expected augment.mixup 0 and augment.cutmix 0"});
}

TEST_F(TrainModes, OnlyModelsThatExchangeTokensAreAskedTo) {
    expect_refused(cait(recipe("run", {"--set", "augment.mix_tokens=1"})), 2,
                   {"augment.mix_tokens: expected loss.name token_label"});
}

// Stochastic depth and batch norms would show in the weights.
TEST_F(TrainModes, EvaluationModeDropsNothingAndKeepsStatistics) {
    const auto trained = [&](const std::string& run, const std::string& mode,
                             const std::string& drop) {
        const Finished done =
            cait(recipe(run, {"--epochs", "1", "--set", "train.mode=" + mode, "--set",
                              "model.drop_path=" + drop, "--allow-unused"}));
        EXPECT_EQ(done.status, 0) << done.err;
        return state(run);
    };
    const auto still = trained("still", "eval", "0");
    EXPECT_EQ(trained("dropping", "eval", "0.5"), still);
    EXPECT_NE(trained("training", "train", "0.5"), still);

    const Words resnet = {"train",    "small",
                          "--model",  "resnet18",
                          "--set",    "model.width=8",
                          "--data",   "folder:" + path("train"),
                          "--val",    "none",
                          "--batch",  "8",
                          "--epochs", "1",
                          "--set",    "schedule.warmup=0"};
    ASSERT_EQ(cait(resnet + Words{"--out", path("first")}).status, 0);
    const Words next{"--weights", path("first/last.safetensors"), "--set", "train.mode=eval"};
    ASSERT_EQ(cait(resnet + next + Words{"--out", path("second")}).status, 0);
    const Model first = Model::load(path("first/last.safetensors"));
    const Model second = Model::load(path("second/last.safetensors"));
    for (const auto& [name, tensor] : second.weights()) {
        if (tensor.dtype() != DType::f32) continue;
        EXPECT_EQ(floats(tensor) == floats(first.weights().at(name)),
                  name.find("running_") != std::string::npos)
            << name;
    }
}

// Thesis, section 3.5, "Re-training".
TEST_F(TrainModes, ScalesOfAnEarlierRunAreKept) {
    ASSERT_EQ(cait(recipe("first")).status, 0);
    const Finished run =
        cait(recipe("again", {"--set", "model.scales=" + path("first"), "--set", "train.seed=5"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out + run.err, HasSubstr("weights of residual branches are those of"));
    const Model first = Model::load(path("first/best.safetensors"));
    const Model again = Model::load(path("again/last.safetensors"));
    std::size_t scales = 0;
    for (const auto& [name, tensor] : again.weights()) {
        const bool scale = name.find("gamma") != std::string::npos;
        EXPECT_EQ(floats(tensor) == floats(first.weights().at(name)), scale) << name;
        scales += std::size_t(scale);
    }
    EXPECT_EQ(scales, 6U);  // two in each of two blocks and a class layer
    const Finished other = cait({"train", "small", "--model", "deit_tiny_patch16_224", "--data",
                                 "folder:" + path("train"), "--out", path("none"), "--set",
                                 "model.scales=" + path("first")});
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.err, HasSubstr("best.safetensors: does not fit the model"));
}

TEST_F(TrainModes, FineTunesOnWhatEvaluationShows) {
    const Words crop{"--set", "augment.crop=eval", "--set", "augment.flip=0"};
    ASSERT_EQ(cait(recipe("first", crop + Words{"--set", "eval.crop_ratio=1"})).status, 0);
    ASSERT_EQ(cait(recipe("second", crop + Words{"--set", "eval.crop_ratio=0.5"})).status, 0);
    EXPECT_NE(state("first"), state("second"));
}

TEST_F(TrainModes, ATeacherSeesTheStudentsResolution) {
    ASSERT_EQ(cait(recipe("teacher", {"--epochs", "1"})).status, 0);
    const Finished run = cait(
        recipe("student", {"--epochs", "1", "--set", "model.image_size=32", "--set",
                           "distill.kind=hard", "--set", "distill.teacher=" + path("teacher")}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out + run.err, HasSubstr("is run at the student's 32 pixels, not at 16"));
}

}  // namespace
}  // namespace cait::e2e
