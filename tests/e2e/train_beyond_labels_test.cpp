// Learning beyond labels as a user runs it: Grafit, SNCA, DINO and the baselines from recipe to
// features, killed and gone on with, and in two processes.
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "e2e/train_run.h"
#include "report/metrics_log.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class TrainBeyondLabels : public TrainRun {
protected:
    Words run_of(const std::string& name, const std::string& run, const Words& more = {}) const {
        Words words = {"train",         name,
                       "--data",        "folder:" + path("train"),
                       "--val",         "folder:" + path("val"),
                       "--out",         path(run),
                       "--model",       "deit_tiny_patch16_224",
                       "--batch",       "8",
                       "--epochs",      "2",
                       "--allow-unused"};  // not every recipe reads all of these
        for (const char* setting :
             {"model.image_size=16", "model.patch=8", "model.dim=16", "model.depth=2",
              "model.heads=2", "model.drop_path=0.1", "schedule.warmup=0", "optim.lr_batch=0",
              "eval.neighbours=5", "augment.policy=none", "train.threads=1"}) {
            words.emplace_back("--set");
            words.emplace_back(setting);
        }
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    Words grafit(const std::string& run, const Words& more = {}) const {
        Words words{"--set", "views.count=2",
                    "--set", "head.hidden=16",
                    "--set", "head.outputs=8",
                    "--set", "head.predictor=12",
                    "--lr",  "0.05"};
        words.insert(words.end(), more.begin(), more.end());
        return run_of("grafit-cifar", run, words);
    }
    Words dino(const std::string& run, const Words& more = {}) const {
        Words words{"--set", "loss.name=dino",
                    "--set", "head.kind=dino",
                    "--set", "head.predictor=0",
                    "--set", "head.hidden=16",
                    "--set", "head.outputs=32",
                    "--set", "head.bottleneck=8",
                    "--set", "views.name=multi-crop",
                    "--set", "views.locals=2",
                    "--set", "views.global_size=16",
                    "--set", "views.local_size=8",
                    "--set", "eval.features=trunk",
                    "--set", "save.head=false",
                    "--set", "save.best=top1_ema",
                    "--set", "optim.name=adamw",
                    "--set", "optim.clip=param",
                    "--set", "optim.clip_at=3",
                    "--lr",  "1e-3"};
        words.insert(words.end(), more.begin(), more.end());
        return run_of("grafit-cifar", run, words);
    }

    std::vector<float> values(const std::string& run) const {
        std::vector<float> all;
        for (const auto& [name, tensor] : state_file(run).tensors) {
            if (name.starts_with("optimizer.") || name.ends_with("qkv.bias")) continue;
            if (tensor.dtype() != DType::f32) continue;
            const std::size_t old = all.size();
            all.resize(old + tensor.byte_size() / sizeof(float));
            std::memcpy(all.data() + old, tensor.bytes(), tensor.byte_size());
        }
        return all;
    }

    // Of training; validation has one anyway.
    void expect_accuracy(const Finished& run, const std::string& name, bool learned) const {
        SCOPED_TRACE(name);
        EXPECT_EQ(run.out.find(", accuracy ") != std::string::npos, learned) << run.out;
        const std::vector<MetricsRecord> records = read_metrics(path(name + "/metrics.jsonl"));
        EXPECT_FALSE(records.empty());
        for (const MetricsRecord& record : records)
            EXPECT_EQ(record.values.contains(metric::kAccuracy), learned || record.kind == "val")
                << record.kind << " at step " << record.step;
    }

    // Killed after some saves and gone on with, it ends as the whole run does.
    void expect_kills_change_nothing(const Words& whole, Words broken, const std::string& a,
                                     const std::string& b) const {
        ASSERT_EQ(cait(whole).status, 0);
        for (int kills = 0; kills < 3; ++kills) {
            Running run(broken);
            const auto before = saved_at(b);
            eventually([&] { return run.over() || saved_at(b) != before; });
            run.signal(SIGKILL);
            run.wait();
            broken = {"train", "--resume", path(b)};
        }
        const Finished last = cait(broken);
        ASSERT_EQ(last.status, 0) << last.err;
        EXPECT_EQ(state(a), state(b));
    }

    void expect_two_processes_equal_one(const Words& one, Words two, const std::string& a,
                                        const std::string& b) const {
        const Finished first = cait(one);
        ASSERT_EQ(first.status, 0) << first.err;
        two.insert(two.end(), {"--nproc", "2"});
        const Finished second = cait(two);
        ASSERT_EQ(second.status, 0) << second.err;
        const std::vector<float> x = values(a), y = values(b);
        ASSERT_EQ(x.size(), y.size());
        ASSERT_FALSE(x.empty());
        float most = 0;
        for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
        EXPECT_LT(most, 1e-5F);  // after 12 steps
    }
};

TEST_F(TrainBeyondLabels, GrafitFromRecipeToFeatures) {
    const Finished run = cait(grafit("run"));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("nearest training images"));
    EXPECT_THAT(run.out, HasSubstr("spread"));
    EXPECT_THAT(run.out, HasSubstr("the class head does not know"));
    expect_accuracy(run, "run", false);
    EXPECT_THAT(read(path("run/metrics.jsonl")), HasSubstr("\"spread\""));
    const TensorFile file = TensorFile::open(path("run/best.safetensors"));
    std::set<std::string> names;
    for (const NamedTensor& tensor : file.tensors) names.insert(tensor.name);
    EXPECT_TRUE(names.contains("projector.3.weight"));
    EXPECT_FALSE(names.contains("predictor.3.weight"));

    const Finished eval =
        cait({"eval", "--weights", path("run"), "--data", "folder:" + path("val"), "--knn",
              "folder:" + path("train"), "--k", "5", "--tap", "projection", "--json"});
    ASSERT_EQ(eval.status, 0) << eval.err;
    EXPECT_TRUE(nlohmann::json::parse(eval.out).contains("knn")) << eval.out;
    const Finished embed =
        cait({"embed", "--weights", path("run"), "--data", "folder:" + path("val"), "--tap",
              "projection", "--output", path("x.npy")});
    EXPECT_EQ(embed.status, 0) << embed.err;
    EXPECT_THAT(embed.err, HasSubstr("24 vectors of 8 numbers"));
}

TEST_F(TrainBeyondLabels, WithoutBeingAskedModelFilesHaveNoHead) {
    const Finished run = cait(grafit("run", {"--set", "save.head=false", "--epochs", "1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    for (const NamedTensor& tensor : TensorFile::open(path("run/last.safetensors")).tensors)
        EXPECT_THAT(tensor.name, Not(HasSubstr("projector")));
    EXPECT_TRUE(state_file("run").metadata.size() > 0);
    // Fine-tuning starts from the trunk.
    Words words = run_of("grafit-transfer", "tuned", {"--weights", path("run"), "--epochs", "1"});
    const Finished tuned = cait(words);
    EXPECT_EQ(tuned.status, 0) << tuned.err;
}

TEST_F(TrainBeyondLabels, FineTunesAClassifierWithAHiddenLayer) {
    ASSERT_EQ(cait(run_of("snca", "run", {"--epochs", "1"})).status, 0);
    const Finished tuned =
        cait(run_of("grafit-transfer", "tuned",
                    {"--weights", path("run"), "--set", "head.classifier=12", "--lr", "0.05"}));
    ASSERT_EQ(tuned.status, 0) << tuned.err;
    EXPECT_THAT(tuned.err, HasSubstr("head rebuilt: its hidden layer has 12 numbers"));
    expect_accuracy(tuned, "tuned", true);
    std::set<std::string> names;
    for (const NamedTensor& tensor : TensorFile::open(path("tuned/best.safetensors")).tensors)
        names.insert(tensor.name);
    EXPECT_TRUE(names.contains("head_hidden.1.running_mean"));
    EXPECT_FALSE(names.contains("projector.weight"));
    // The engine gives what LibTorch gives.
    const auto loss = [&](const std::string& executor) {
        const Finished eval = cait({"eval", "--weights", path("tuned"), "--data",
                                    "folder:" + path("val"), "--executor", executor, "--json"});
        EXPECT_EQ(eval.status, 0) << eval.err;
        return nlohmann::json::parse(eval.out).at("loss").get<double>();
    };
    EXPECT_NEAR(loss("engine"), loss("torch"), 1e-4);
    const Finished predict =
        cait({"predict", "--weights", path("tuned"), path("val/red/0.png"), "--json"});
    EXPECT_EQ(predict.status, 0) << predict.err;
    // What starts from it may have another one.
    for (const char* width : {"12", "0"})
        EXPECT_EQ(cait(run_of("grafit-transfer", std::string("again") + width,
                              {"--weights", path("tuned"), "--epochs", "1", "--set",
                               std::string("head.classifier=") + width}))
                      .status,
                  0);
    expect_refused(cait(run_of("snca", "bad", {"--set", "head.classifier=12"})), 2,
                   {"head.classifier"});
}

TEST_F(TrainBeyondLabels, BaselinesRun) {
    for (const char* loss : {"instance", "ce_instance", "triplet", "ce_triplet"}) {
        const Finished run =
            cait(grafit(loss, {"--epochs", "1", "--set", std::string("loss.name=") + loss}));
        EXPECT_EQ(run.status, 0) << loss << ": " << run.err;
        expect_accuracy(run, loss, std::string(loss).starts_with("ce_"));
    }
    const Finished snca = cait(run_of("snca", "snca", {"--epochs", "1", "--lr", "0.05"}));
    ASSERT_EQ(snca.status, 0) << snca.err;
    expect_accuracy(snca, "snca", false);
    const Finished clusters = cait(run_of("grafit-transfer", "clusters",
                                          {"--epochs", "1", "--set", "clusters.count=5", "--set",
                                           "clusters.weights=" + path("snca/last.safetensors")}));
    ASSERT_EQ(clusters.status, 0) << clusters.err;
    EXPECT_THAT(clusters.err, HasSubstr("48 images in 5 clusters"));
    expect_accuracy(clusters, "clusters", true);
}

TEST_F(TrainBeyondLabels, KillsDoNotChangeGrafit) {
    const Words more{"--set", "save.steps=1"};
    expect_kills_change_nothing(grafit("whole", more), grafit("broken", more), "whole", "broken");
}

TEST_F(TrainBeyondLabels, KillsDoNotChangeDino) {
    const Words more{"--set", "save.steps=1"};
    expect_kills_change_nothing(dino("whole", more), dino("broken", more), "whole", "broken");
}

TEST_F(TrainBeyondLabels, KillsDoNotChangeClusterFit) {
    ASSERT_EQ(cait(run_of("snca", "teacher", {"--epochs", "1"})).status, 0);
    const Words more{"--set",    "clusters.count=5",
                     "--set",    "clusters.weights=" + path("teacher/last.safetensors"),
                     "--set",    "save.steps=1",
                     "--epochs", "4"};
    const auto run = [&](const char* name) { return run_of("grafit-transfer", name, more); };
    expect_kills_change_nothing(run("whole"), run("broken"), "whole", "broken");
    EXPECT_TRUE(state("whole").contains("clusters"));
}

TEST_F(TrainBeyondLabels, ClustersStayWhateverBecomesOfTheModelThatMadeThem) {
    ASSERT_EQ(cait(run_of("snca", "teacher", {"--epochs", "1"})).status, 0);
    const Words words =
        run_of("grafit-transfer", "run",
               {"--set", "clusters.count=5", "--set",
                "clusters.weights=" + path("teacher/last.safetensors"), "--epochs", "1"});
    ASSERT_EQ(cait(words).status, 0);
    const std::uint64_t before = state("run").at("clusters");
    std::filesystem::remove_all(path("teacher"));
    const Finished on =
        cait({"train", "--resume", path("run"), "--epochs", "2", "--set", "train.seed=9"});
    EXPECT_EQ(on.status, 0) << on.err;
    EXPECT_EQ(state("run").at("clusters"), before);
    // Of other images they would say nothing.
    std::filesystem::remove(path("train/red/0.png"));
    expect_refused(cait({"train", "--resume", path("run"), "--epochs", "3"}), 1,
                   {"clusters", "expected one for each of the 47 training images, found 48"});
}

TEST_F(TrainBeyondLabels, GoingOnWithAnotherLossDropsNothingSilently) {
    ASSERT_EQ(cait(grafit("run", {"--epochs", "1"})).status, 0);
    const Words bare{"--set", "head.kind=none",  "--set",    "eval.features=trunk",
                     "--set", "save.head=false", "--epochs", "1"};
    ASSERT_EQ(cait(run_of("snca", "bare", bare)).status, 0);
    const auto go_on = [&](const std::string& run, const std::string& setting) {
        return cait({"train", "--resume", path(run), "--epochs", "2", "--set", setting});
    };
    const auto expect_kept = [&](const std::string& run, const std::string& setting,
                                 const std::string& what) {
        const Finished refused = go_on(run, setting);
        EXPECT_EQ(refused.status, 1) << setting;
        EXPECT_THAT(refused.err, HasSubstr("state.safetensors: " + what)) << setting;
    };
    const std::string unused = "the checkpoint has it, the recipe's loss.name does not";
    expect_kept("run", "loss.name=instance", "memory: " + unused);
    expect_kept("run", "loss.name=knn", "target.blocks.0.attn.proj.bias: " + unused);
    expect_kept("run", "head.outputs=4", "projector.3.weight: the recipe's model has shape");
    expect_kept("bare", "loss.name=cross_entropy", "memory: " + unused);
    EXPECT_EQ(go_on("run", "memory.sigma=0.1").status, 0);
}

TEST_F(TrainBeyondLabels, TwoProcessesLearnGrafitAsOneDoes) {
    // At a rate at which fresh weights do not blow rounding errors up.
    const Words more{"--lr", "1e-3"};
    expect_two_processes_equal_one(grafit("one", more), grafit("two", more), "one", "two");
}

TEST_F(TrainBeyondLabels, TwoProcessesLearnDinoAsOneDoes) {
    expect_two_processes_equal_one(dino("one"), dino("two"), "one", "two");
}

TEST_F(TrainBeyondLabels, ACollapsedRunIsNamed) {
    // All images are alike, and so are all views of them.
    std::filesystem::remove_all(path("train"));
    for (const char* name : {"a", "b"}) {
        std::filesystem::create_directories(folder_ / "train" / name);
        for (int i = 0; i < 8; ++i)
            write_image(folder_ / "train" / name / fmt::format("{}.png", i),
                        Image::blank(16, 16, 3));
    }
    const Finished run = cait(grafit(
        "run", {"--val", "none", "--epochs", "1", "--set", "model.drop_path=0", "--set",
                "augment.erase=0", "--set", "augment.crop=squash", "--set", "data.mean=half"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("has collapsed"));
    EXPECT_THAT(run.err, HasSubstr("all images get the same features"));
}

TEST_F(TrainBeyondLabels, WhatDoesNotFitIsRefusedInOneLine) {
    expect_refused(cait(grafit("run", {"--set", "views.name=none"})), 2, {"views.name"});
    expect_refused(cait(grafit("run", {"--set", "augment.mixup=0.8"})), 2, {"mixup"});
    expect_refused(cait(run_of("grafit-transfer", "run",
                               {"--set", "clusters.count=50000", "--set",
                                "clusters.weights=nothing.safetensors"})),
                   2, {"clusters.count"});
}

}  // namespace
}  // namespace cait::e2e
