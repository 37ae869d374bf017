// `cait train` as a user runs it: what a run leaves behind, and what it says to bad input.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(TrainRun, LearnsAndLeavesAWholeRun) {
    const Finished run = cait(recipe("run", {"--epochs", "8"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("epoch 8/8: train loss"));
    EXPECT_THAT(run.out, HasSubstr("val top-1 100.00 %"));
    for (const char* name : {"recipe.toml", "metrics.jsonl", "last.safetensors", "best.safetensors",
                             "state.safetensors", "last_ema.safetensors", "report.html"})
        EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / name)) << name;
    EXPECT_FALSE(std::filesystem::is_empty(folder_ / "run" / "tensorboard"));

    // The model file needs nothing beside it: classes and preprocessing are inside.
    const Model model = Model::load(path("run/best.safetensors"));
    EXPECT_THAT(model.classes(), testing::ElementsAre("blue", "green", "red"));
    EXPECT_EQ(model.preprocessing().crop_ratio, 1.0);
    EXPECT_THAT(model.training().at("recipe"), HasSubstr("[optim]"));

    const Finished evaluated = cait({"eval", "--weights", path("run/best.safetensors"), "--data",
                                     "folder:" + path("val"), "--json"});
    ASSERT_EQ(evaluated.status, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, HasSubstr("\"top1\": 1.0"));
    EXPECT_THAT(read(path("run/report.html")), HasSubstr("<svg"));
}

// The thesis reports the final epoch; the best one was chosen on what it is measured on.
TEST_F(TrainRun, TellsTheFinalEpochFromTheBestOne) {
    // A rate that grows too large after the warm-up ends: the last epoch is not the best.
    const Words words =
        recipe("run", {"--epochs", "6", "--set", "save.best=loss", "--set", "train.ema=0", "--set",
                       "schedule.name=constant", "--set", "optim.lr=0.05", "--seed", "3"});
    const Finished run = cait(words);
    ASSERT_EQ(run.status, 0) << run.err;
    double last = 0, best = INFINITY;
    int best_epoch = 0;
    std::istringstream lines(read(path("run/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);) {
        const auto record = nlohmann::json::parse(line);
        if (record.at("kind") != "val") continue;
        last = record.at("loss").get<double>();
        if (last < best) best_epoch = int(record.at("epoch").get<double>());
        best = std::min(best, last);
    }
    ASSERT_LT(best_epoch, 6) << "the run is too good for this test";
    EXPECT_THAT(run.out, HasSubstr("final epoch 6: top-1 "));
    EXPECT_THAT(run.out, HasSubstr(fmt::format(
                             "best epoch {}, chosen on the validation set by loss: ", best_epoch)));
    EXPECT_THAT(run.out, HasSubstr(path("run/last.safetensors (final), ")));
    const std::string html = read(path("run/report.html"));
    EXPECT_THAT(html, HasSubstr("<p class=\"dim\">final epoch (6 of 6)</p>"));
    EXPECT_THAT(html, HasSubstr(fmt::format("best epoch ({}), chosen on the validation set by loss",
                                            best_epoch)));

    const Words eval{"eval", "--weights", path("run"), "--data", "folder:" + path("val")};
    const Finished both = cait(eval);
    ASSERT_EQ(both.status, 0) << both.err;
    EXPECT_THAT(both.err, HasSubstr("best.safetensors is the best epoch, chosen on the validation "
                                    "data; the final one is "));
    EXPECT_THAT(both.out, HasSubstr("final epoch (6)\n"));
    EXPECT_THAT(both.out, HasSubstr(fmt::format("best epoch ({}), chosen on the validation data: "
                                                "folder:{}\n",
                                                best_epoch, path("val"))));
    Words json = eval;
    json.emplace_back("--json");
    const auto found = nlohmann::json::parse(cait(json).out);
    EXPECT_NEAR(found["loss"].get<double>(), best, 1e-4);
    EXPECT_NEAR(found["final_epoch"]["loss"].get<double>(), last, 1e-4);
    const Finished one = cait({"eval", "--weights", path("run/last.safetensors"), "--data",
                               "folder:" + path("val"), "--json"});
    EXPECT_FALSE(nlohmann::json::parse(one.out).contains("final_epoch"));
    EXPECT_EQ(one.err, "");
}

// CIFAR and its like have no third part: what is chosen there is chosen on test data.
TEST_F(TrainRun, SaysThatTheBestEpochIsChosenOnTestData) {
    std::filesystem::create_directories(folder_ / "parted");
    std::filesystem::rename(folder_ / "train", folder_ / "parted/train");
    std::filesystem::rename(folder_ / "val", folder_ / "parted/test");
    Words words = recipe("run", {"--epochs", "1"});
    words[3] = "folder:" + path("parted");
    words[5] = "folder:" + path("parted") + "?split=test";
    const Finished run = cait(words);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("?split=test, its test part: the best epoch is chosen on test "
                                   "data, so publish the final one"));
    EXPECT_THAT(read(path("run/report.html")), HasSubstr("chosen on the test part of the data"));
    const Finished same =
        cait({"eval", "--weights", path("run"), "--data", "folder:" + path("parted/test")});
    EXPECT_THAT(same.out, HasSubstr("best epoch (1, which is the final one), chosen on the"));
    EXPECT_THAT(same.out, HasSubstr("its test part"));
}

TEST_F(TrainRun, MetricsAreOneObjectPerLine) {
    ASSERT_EQ(cait(recipe("run")).status, 0);
    std::istringstream lines(read(path("run/metrics.jsonl")));
    int train = 0, val = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto record = nlohmann::json::parse(line);
        (record.at("kind") == "train" ? train : val) += 1;
        EXPECT_GE(record.at("top1").get<double>(), 0);
    }
    EXPECT_EQ(train, 3 * 6);
    EXPECT_EQ(val, 3);
}

TEST_F(TrainRun, TheRecipeOfARunGivesTheSameRunAgain) {
    ASSERT_EQ(cait(recipe("first")).status, 0);
    ASSERT_EQ(cait({"train", path("first/recipe.toml"), "--out", path("second")}).status, 0);
    EXPECT_EQ(state("first"), state("second"));
}

TEST_F(TrainRun, PredictsAndAttends) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "8"})).status, 0);
    const std::string weights = path("run/best.safetensors");
    const Finished answer =
        cait({"predict", "--weights", weights, path("val/red/0.png"), "--top", "1", "--json"});
    ASSERT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(nlohmann::json::parse(answer.out)[0]["predictions"][0]["label"], "red");
    const Finished look = cait({"attend", "--weights", weights, path("val/red/0.png"), "--heads",
                                "--output", path("look.png")});
    ASSERT_EQ(look.status, 0) << look.err;
    EXPECT_GT(std::filesystem::file_size(folder_ / "look.png"), 1000U);
}

// The student's labels are all wrong: what it knows of colours it has from its teacher.
TEST_F(TrainRun, DistilsFromAModelOfItsOwn) {
    ASSERT_EQ(cait(recipe("teacher", {"--epochs", "8"})).status, 0);
    std::filesystem::rename(folder_ / "train", folder_ / "right");
    std::filesystem::create_directory(folder_ / "train");
    for (const auto& [from, to] : {std::pair{"red", "green"}, {"green", "blue"}, {"blue", "red"}})
        std::filesystem::copy(folder_ / "right" / from, folder_ / "train" / to,
                              std::filesystem::copy_options::recursive);
    const auto final_top1 = [&](const std::string& name, const Words& more) {
        const Finished run = cait(recipe(name, Words{"--epochs", "8"} + more));
        EXPECT_EQ(run.status, 0) << run.err;
        const Finished eval = cait({"eval", "--weights", path(name + "/last.safetensors"), "--data",
                                    "folder:" + path("val"), "--json"});
        return nlohmann::json::parse(eval.out).at("top1").get<double>();
    };
    const Words taught{"--set", "distill.teacher=" + path("teacher/best.safetensors"), "--set",
                       "distill.alpha=0.9"};
    EXPECT_EQ(final_top1("alone", {}), 0);
    EXPECT_EQ(final_top1("hard", taught + Words{"--set", "distill.kind=hard"}), 1);
    // A tenth of what it hears is wrong; without a teacher nothing is right.
    EXPECT_GT(final_top1("soft", taught + Words{"--set", "distill.kind=soft", "--set",
                                                "distill.soft_mean=images"}),
              0.5);
}

TEST_F(TrainRun, AConvnetLabelsTheTokensOfVolo) {
    ASSERT_EQ(cait({"train", "small", "--model", "resnet18", "--set", "model.width=8", "--data",
                    "folder:" + path("train"), "--val", "folder:" + path("val"), "--batch", "8",
                    "--out", path("teacher"), "--epochs", "1", "--set", "schedule.warmup=0"})
                  .status,
              0);
    const Finished student =
        cait({"train",    "volo",
              "--data",   "folder:" + path("train"),
              "--val",    "folder:" + path("val"),
              "--batch",  "8",
              "--out",    path("student"),
              "--epochs", "1",
              "--set",    "schedule.warmup=0",
              "--set",    "schedule.cooldown=0",
              "--set",    "model.image_size=32",
              "--set",    "model.dims=24,48,48,48",
              "--set",    "model.heads=2,4,4,4",
              "--set",    "model.layers=1,1,1,1",
              "--set",    "distill.kind=tokens",
              "--set",    "distill.teacher=" + path("teacher/best.safetensors")});
    EXPECT_EQ(student.status, 0) << student.err;
    const Finished wrong =
        cait(recipe("wrong", {"--set", "distill.kind=tokens", "--set", "distill.teacher=x"}));
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, HasSubstr("loss.name token_label"));
}

// The statistics of its batch norms belong to the trunk.
TEST_F(TrainRun, ALinearProbeLeavesTheTrunkAlone) {
    const Words words = {"train",    "small",
                         "--model",  "resnet18",
                         "--set",    "model.width=8",
                         "--data",   "folder:" + path("train"),
                         "--val",    "folder:" + path("val"),
                         "--batch",  "8",
                         "--epochs", "1",
                         "--set",    "schedule.warmup=0"};
    ASSERT_EQ(cait(words + Words{"--out", path("first")}).status, 0);
    ASSERT_EQ(cait(words + Words{"--out", path("probe"), "--weights",
                                 path("first/last.safetensors"), "--set", "train.tune=head"})
                  .status,
              0);
    const Model first = Model::load(path("first/last.safetensors"));
    const Model probe = Model::load(path("probe/last.safetensors"));
    const auto floats = [](const Tensor& tensor) {
        return std::vector<float>(tensor.floats().begin(), tensor.floats().end());
    };
    for (const auto& [name, tensor] : probe.weights()) {
        if (tensor.dtype() != DType::f32) continue;
        const bool same = floats(tensor) == floats(first.weights().at(name));
        EXPECT_EQ(same, !name.starts_with("fc.")) << name;
    }
}

TEST_F(TrainRun, MixesAndTunesTheHeadOnly) {
    ASSERT_EQ(cait(recipe("first")).status, 0);
    const Finished run = cait(
        recipe("probe", {"--weights", path("first/best.safetensors"), "--set", "train.tune=head",
                         "--set", "augment.mixup=0.8", "--set", "augment.cutmix=1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const Model before = Model::load(path("first/best.safetensors"));
    const Model after = Model::load(path("probe/last.safetensors"));
    const auto same = [&](const std::string& name) {
        const auto a = before.weights().at(name).floats(), b = after.weights().at(name).floats();
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    };
    EXPECT_TRUE(same("blocks.0.attn.qkv.weight"));
    EXPECT_FALSE(same("head.weight"));
}

TEST_F(TrainRun, PrintShowsTheWholeRecipe) {
    const Finished run = cait({"train", "deit", "--print", "--set", "optim.lr=1e-3"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("lr = 0.001"));
    write("again.toml", run.out);
    EXPECT_EQ(cait({"train", path("again.toml"), "--print"}).out, run.out);
}

TEST_F(TrainRun, WrongWordsAreUsageErrors) {
    expect_refused(cait(recipe("run", {"--lr", "nan"})), 2, {"optim.lr", "nan"});
    expect_refused(cait(recipe("run", {"--batch", "0"})), 2, {"data.batch", "0"});
    expect_refused(cait(recipe("run", {"--frobnicate"})), 2, {"--frobnicate"});
    expect_refused(cait(recipe("run", {"--set", "optim.lrr=1"})), 2, {"optim.lrr", "optim.lr"});
    expect_refused(cait({"train", "smal", "--print"}), 2, {"smal", "small"});
    expect_refused(cait({"train", "small"}), 2, {"--data"});
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / "state.safetensors"));
}

TEST_F(TrainRun, ARecipeWithAMistakeNamesFileLineAndKey) {
    write("mine.toml", "base = \"small\"\n\n[optim]\nlrr = 1e-3\n");
    expect_refused(cait({"train", path("mine.toml"), "--print"}), 1,
                   {"mine.toml:4", "optim.lrr", "did you mean optim.lr"});
    write("mine.toml", "base = \"small\"\n[optim]\nlr = \"fast\"\n");
    expect_refused(cait({"train", path("mine.toml"), "--print"}), 1, {"mine.toml:3", "optim.lr"});
}

TEST_F(TrainRun, ARunIsNotOverwritten) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    expect_refused(cait(recipe("run")), 2, {path("run"), "--resume"});
}

TEST_F(TrainRun, ClassesAreMappedByName) {
    std::filesystem::remove_all(folder_ / "val" / "blue");  // would shift the other two
    const Finished run = cait(recipe("run", {"--epochs", "8"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("val top-1 100.00 %"));
    std::filesystem::create_directories(folder_ / "val" / "violet");
    std::filesystem::copy(folder_ / "val" / "red" / "0.png", folder_ / "val" / "violet" / "0.png");
    const Finished refused = cait(recipe("other"));
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("violet"));
}

TEST_F(TrainRun, AnEmptyClassFolderIsRefused) {
    std::filesystem::create_directories(folder_ / "train" / "empty");
    const Finished run = cait(recipe("run"));
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr("empty"));
}

TEST_F(TrainRun, UnreadableImagesAreNamedAndTooManyEndTheRun) {
    write("train/red/0.png", "no image");
    const Finished tolerated = cait(recipe("run", {"--epochs", "1"}));
    ASSERT_EQ(tolerated.status, 0) << tolerated.err;  // 1 of 48 is below 5 %
    EXPECT_THAT(tolerated.err, HasSubstr("red/0.png"));
    for (int i = 1; i < 8; ++i) write(fmt::format("train/red/{}.png", i), "no image");
    const Finished ended = cait(recipe("other"));
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("cannot be read"));
    EXPECT_THAT(ended.err, HasSubstr("red/"));
}

TEST_F(TrainRun, ATruncatedJpegIsSkippedAndNamed) {
    write_image(folder_ / "train/red/cut.jpg", Image::blank(64, 64, 3));
    const std::string whole = read(path("train/red/cut.jpg"));
    write("train/red/cut.jpg", whole.substr(0, whole.size() / 2));
    const Finished run = cait(recipe("run", {"--epochs", "1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("skipped " + path("train/red/cut.jpg") + ": "));
    EXPECT_THAT(run.err, HasSubstr("truncated"));
    const Finished verify = cait({"data", "verify", "folder:" + path("train")});
    EXPECT_THAT(verify.err, HasSubstr("1 of 49 images cannot be read"));
}

TEST_F(TrainRun, DivergenceStopsTheRunAndIsNotSaved) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    Model model = Model::load(path("run/last.safetensors"));
    std::map<std::string, Tensor> weights = model.weights();
    Tensor head = Tensor::zeros(DType::f32, weights.at("head.weight").shape());
    for (float& value : head.mutable_floats()) value = 3e38F;  // finite; its products are not
    weights["head.weight"] = head;
    model.with_weights(weights).save(path("huge.safetensors"));
    const Finished run = cait(recipe("other", {"--weights", path("huge.safetensors")}));
    EXPECT_EQ(run.status, 3);
    EXPECT_THAT(run.err, HasSubstr("step 1: not taken"));
    EXPECT_THAT(run.err, HasSubstr("stopped at step 3"));
    // The op and the line of the model where numbers first went wrong.
    EXPECT_THAT(run.err,
                testing::ContainsRegex("first in head.linear \\(src/models/cait.cpp:[0-9]+\\)"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "other" / "state.safetensors"));
    EXPECT_THAT(read(path("other/metrics.jsonl")), HasSubstr("\"kind\":\"diverged\""));
}

TEST_F(TrainRun, AFileNamesTheRunAndTheEpochThatItStartsFrom) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const auto print = [&](const std::string& model, const Words& more = {}) {
        write("mine.toml", "base = \"small\"\n[model]\n" + model);
        Words words{"train", path("mine.toml"), "--print", "--data", "folder:" + path("train")};
        words.insert(words.end(), more.begin(), more.end());
        return cait(words);
    };
    const std::string run = "weights = \"" + path("run") + "\"\n";
    const Finished best = print(run);
    ASSERT_EQ(best.status, 0) << best.err;
    EXPECT_THAT(best.out, HasSubstr("\nweights = \"" + path("run/best.safetensors") + "\"\n"));
    EXPECT_THAT(best.out, HasSubstr("\nweights_epoch = \"best\"\n"));
    EXPECT_THAT(best.err, HasSubstr("is the best epoch, chosen on the validation data"));
    const Finished last = print(run + "weights_epoch = \"last\"\n");
    EXPECT_THAT(last.out, HasSubstr("\nweights = \"" + path("run/last.safetensors") + "\"\n"));
    EXPECT_THAT(last.out, HasSubstr("\nweights_epoch = \"last\"\n"));
    const Finished average = print(run, {"--set", "model.weights_epoch=last_ema"});
    EXPECT_THAT(average.out, HasSubstr(path("run/last_ema.safetensors")));
    EXPECT_THAT(print("", {"--weights", path("run:last")}).out,
                HasSubstr("\nweights_epoch = \"last\"\n"));

    const std::string file = "weights = \"" + path("run/last.safetensors") + "\"\n";
    EXPECT_EQ(print(file + "weights_epoch = \"last\"\n").status, 0);  // as recipe.toml has it
    expect_refused(
        print(file + "weights_epoch = \"best\"\n"), 2,
        {"model.weights_epoch: has no effect: it is read only with the folder of a run"});
    expect_refused(print("", {"--set", "model.weights_epoch=last"}), 2,
                   {"model.weights_epoch: has no effect: it is read only with model.weights"});
    expect_refused(print("weights = \"" + path("run:last") + "\"\nweights_epoch = \"best\"\n"), 2,
                   {"model.weights_epoch: expected last, as model.weights says, found 'best'"});
    // What the file says of the model beside its weights stays.
    EXPECT_THAT(print(run + "drop_path = 0.25\n").out, HasSubstr("\ndrop_path = 0.25\n"));
    const Finished trained =
        cait({"train", path("mine.toml"), "--data", "folder:" + path("train"), "--val", "none",
              "--out", path("second"), "--epochs", "1", "--batch", "8"});
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_EQ(cait({"train", "--resume", path("second")}).status, 0);
}

// The head is large and its products are finite, until a step has made what it multiplies as large.
TEST_F(TrainRun, AValidationThatMeetsNaNIsADivergence) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const Model model = Model::load(path("run/last.safetensors"));
    std::map<std::string, Tensor> weights = model.weights();
    Tensor head = Tensor::zeros(DType::f32, weights.at("head.weight").shape());
    std::size_t i = 0;  // [3, 16]
    for (float& value : head.mutable_floats()) {
        value = (i / 16 + i % 16) % 2 == 0 ? 1e30F : -1e30F;
        ++i;
    }
    weights["head.weight"] = head;
    model.with_weights(weights).save(path("large.safetensors"));
    Words words = recipe("other", {"--weights", path("large.safetensors"), "--batch", "48"});
    for (const char* setting : {"optim.name=sgd", "optim.lr=1", "optim.lr_batch=0",
                                "optim.clip=none", "train.ema=0", "train.precision=fp32"})
        words.insert(words.end(), {"--set", setting});
    const Finished run = cait(words);
    EXPECT_EQ(run.status, 3) << run.err;
    EXPECT_THAT(run.err, HasSubstr("stopped at the validation after epoch 1: image"));
    EXPECT_THAT(run.err, HasSubstr("expected a finite number"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "other" / "state.safetensors"));
    EXPECT_THAT(read(path("other/metrics.jsonl")), HasSubstr("\"kind\":\"diverged\""));
}

TEST_F(TrainRun, ACheckpointOfAnotherModelSaysWhatDiffers) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const Finished run =
        cait({"train", "--resume", path("run"), "--epochs", "2", "--set", "model.dim=32"});
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr("state.safetensors"));
    EXPECT_THAT(run.err, HasSubstr("32"));
    EXPECT_THAT(run.err, HasSubstr("16"));
}

}  // namespace
}  // namespace cait::e2e
