// Translators are trained by the real program: on a language in which every word of the other has
// one of its own, in the same order, which a small model learns in seconds.
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/tiny_models.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

constexpr const char* kSource[] = {"a", "red", "dog", "cat", "man", "sees", "old", "tree"};
constexpr const char* kTarget[] = {"ein", "rot", "hund", "katze", "mann", "sieht", "alt", "baum"};

class TrainTranslate : public TrainRun {
protected:
    TrainTranslate() {
        std::filesystem::create_directories(folder_ / "text");
        sentences("train", 240);
        sentences("val", 24);
    }

    void sentences(const std::string& part, int count) const {
        RandomStream random(5, part);
        std::string source, target;
        for (int i = 0; i < count; ++i) {
            const std::size_t words = 1 + random.bits() % 6;
            for (std::size_t w = 0; w < words; ++w) {
                const std::size_t word = random.bits() % std::size(kSource);
                source += std::string(w > 0 ? " " : "") + kSource[word];
                target += std::string(w > 0 ? " " : "") + kTarget[word];
            }
            source += '\n';
            target += '\n';
        }
        write("text/" + part + ".en", source);
        write("text/" + part + ".de", target);
    }

    std::string data() const { return "text:" + path("text") + "?source=en&target=de"; }

    Words translate(const std::string& run, const Words& more = {}) const {
        Words words = {"train", "translate-small", "--data",   data(),
                       "--out", path(run),         "--epochs", "4"};
        for (const char* setting :
             {"model.dim=32", "model.hidden=64", "model.heads=2", "model.encoder_depth=1",
              "model.decoder_depth=1", "model.longest=32", "model.dropout=0.1", "data.pieces=256",
              "data.vocabulary=64", "optim.lr=5e-3", "schedule.warmup=0"}) {
            words.emplace_back("--set");
            words.emplace_back(setting);
        }
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }

    std::vector<nlohmann::json> records(const std::string& run, const std::string& kind) const {
        std::istringstream lines(read(path(run + "/metrics.jsonl")));
        std::vector<nlohmann::json> found;
        for (std::string line; std::getline(lines, line);)
            if (auto json = nlohmann::json::parse(line); json["kind"] == kind)
                found.push_back(std::move(json));
        return found;
    }

    std::vector<float> weights(const std::string& file, const std::string& start = "") const {
        std::vector<float> all;
        for (const auto& [name, tensor] : TensorFile::open(path(file)).tensors) {
            if (!name.starts_with(start)) continue;
            const std::size_t old = all.size();
            all.resize(old + tensor.byte_size() / sizeof(float));
            std::memcpy(all.data() + old, tensor.bytes(), tensor.byte_size());
        }
        return all;
    }
};

TEST_F(TrainTranslate, TheLossFallsAndTheFilesSayWhatTheyAre) {
    const Finished run = cait(translate("run", {"--epochs", "12"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("240 sentence pairs, en to de"));
    EXPECT_THAT(run.out, HasSubstr("batch 256 pieces"));
    EXPECT_THAT(run.out, HasSubstr("perplexity"));
    EXPECT_THAT(run.out, HasSubstr("pieces/s"));
    EXPECT_THAT(run.out, testing::Not(HasSubstr("image")));
    EXPECT_THAT(run.err, HasSubstr("pieces learned from 240 pairs"));
    const auto val = records("run", "val");
    ASSERT_EQ(val.size(), 12U);
    EXPECT_LT(double(val.back()["loss"]), 0.75 * double(val.front()["loss"]));
    EXPECT_NEAR(double(val.back()["perplexity"]), std::exp(double(val.back()["loss"])), 1e-6);
    EXPECT_TRUE(val.back().contains("perplexity_ema"));
    const auto train = records("run", "train");
    EXPECT_TRUE(train.back().contains("pieces_per_second"));
    EXPECT_TRUE(train.back().contains("nll"));
    EXPECT_FALSE(train.back().contains("top1"));
    EXPECT_LT(double(train.back()["epoch_loss"]), double(train.front()["loss"]));
    const std::string report = read(path("run/report.html"));
    EXPECT_THAT(report, HasSubstr("en to de"));
    EXPECT_THAT(report, HasSubstr("Perplexity on validation"));
    EXPECT_THAT(report, testing::Not(HasSubstr("GMAC per image")));
    for (const char* file : {"best", "last", "last_ema"}) {
        const auto metadata =
            TensorFile::open(path(fmt::format("run/{}.safetensors", file))).metadata;
        EXPECT_TRUE(metadata.contains("cait.vocabulary")) << file;
        EXPECT_THAT(metadata.at("cait.text"), HasSubstr("\"target\":\"de\"")) << file;
    }
}

TEST_F(TrainTranslate, AKilledRunGoesOnBitForBit) {
    const Words more{"--set", "save.steps=1", "--set", "train.threads=1"};
    ASSERT_EQ(cait(translate("whole", more)).status, 0);
    Words words = translate("broken", more);
    for (int kills = 0;; ++kills) {
        Running run(words);
        const auto before = saved_at("broken");
        eventually([&] { return run.over() || saved_at("broken") != before; });
        if (kills < 4 && !run.over()) {
            run.signal(SIGKILL);
            run.wait();
            words = {"train", "--resume", path("broken")};
            continue;
        }
        const Finished finished = run.wait();
        ASSERT_EQ(finished.status, 0) << finished.err;
        break;
    }
    EXPECT_EQ(state("whole"), state("broken"));
    for (const char* file : {"best.safetensors", "last_ema.safetensors"})
        EXPECT_EQ(weights(std::string("whole/") + file), weights(std::string("broken/") + file))
            << file;
}

// The loss is a mean over the pieces of both processes' sentences, of which they have unequal ones.
TEST_F(TrainTranslate, TwoProcessesAndPartsTrainAsOneDoes) {
    // Adam's kind makes whole steps of gradients that are rounding alone.
    const Words plain{"--set", "optim.name=sgd", "--set", "optim.lr=0.1"};
    ASSERT_EQ(cait(translate("1", plain)).status, 0);
    const Finished two = cait(translate("2", plain + Words{"--nproc", "2"}));
    ASSERT_EQ(two.status, 0) << two.err;
    const Finished parts = cait(translate("parts", plain + Words{"--set", "optim.accumulate=3"}));
    ASSERT_EQ(parts.status, 0) << parts.err;
    const std::vector<float> one = weights("1/state.safetensors", "weights.");
    ASSERT_FALSE(one.empty());
    for (const char* run : {"2", "parts"}) {
        const std::vector<float> other =
            weights(std::string(run) + "/state.safetensors", "weights.");
        ASSERT_EQ(one.size(), other.size());
        float most = 0;
        for (std::size_t i = 0; i < one.size(); ++i)
            most = std::max(most, std::abs(one[i] - other[i]));
        EXPECT_LT(most, 2e-5F) << run;
        EXPECT_NEAR(double(records("1", "val").back()["loss"]),
                    double(records(run, "val").back()["loss"]), 1e-4)
            << run;
    }
}

TEST_F(TrainTranslate, TheAverageIsTheMeanOfTheLastEpochs) {
    const Finished run =
        cait(translate("run", {"--set", "save.average=3", "--set", "save.keep_every=1"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const std::vector<float> found = weights("run/last_ema.safetensors");
    std::vector<double> sum(found.size(), 0);
    for (const int epoch : {2, 3, 4}) {
        const auto one = weights(fmt::format("run/epoch-000{}.safetensors", epoch));
        ASSERT_EQ(one.size(), found.size());
        for (std::size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
    }
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], float(sum[i] / 3)) << i;
    EXPECT_THAT(TensorFile::open(path("run/last_ema.safetensors")).metadata.at("cait.training"),
                HasSubstr("epochs 2 to 4"));
}

TEST_F(TrainTranslate, WithAttentionInPlaceOfTheMatrix) {
    const Finished run = cait(
        translate("run", {"--set", "model.mixer=attention", "--set", "model.positions=sinusoids"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const auto val = records("run", "val");
    EXPECT_LT(double(val.back()["loss"]), double(val.front()["loss"]));
}

TEST_F(TrainTranslate, TheVocabularyOfAModelIsTakenOver) {
    ASSERT_EQ(cait(translate("run", {"--epochs", "1"})).status, 0);
    const std::string model = path("run/last.safetensors");
    const Finished again =
        cait(translate("again", {"--epochs", "1", "--set", "data.vocabulary=" + model}));
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(TensorFile::open(path("again/last.safetensors")).metadata.at("cait.vocabulary"),
              TensorFile::open(model).metadata.at("cait.vocabulary"));
}

TEST_F(TrainTranslate, WhatDoesNotFitIsNamed) {
    expect_refused(cait({"train", "small", "--data", data(), "--out", path("a")}), 1,
                   {"expected images for loss.name cross_entropy"});
    expect_refused(
        cait({"train", "translate-small", "--data", "folder:" + path("train"), "--out", path("b")}),
        1, {"expected sentences with their translations"});
    expect_refused(cait({"train", "translate-small", "--data", data(), "--out", path("c"),
                         "--model", "cait_xxs24_224"}),
                   2, {"model.name: expected a model that translates"});
    expect_refused(cait(translate("d", {"--set", "data.vocabulary=3"})), 2,
                   {"data.vocabulary: expected a number of pieces from 16"});
    expect_refused(cait(translate("e", {"--set", "data.batch=64"})), 2,
                   {"data.batch: has no effect", "a loss.name other than translate"});
    expect_refused(cait(translate("f", {"--set", "data.vocabulary=missing.model"})), 1,
                   {"missing.model"});
    std::string short_one = read(path("text/train.de"));
    short_one.resize(short_one.rfind('\n', short_one.size() - 2) + 1);
    write("text/train.de", short_one);
    expect_refused(cait(translate("g")), 1, {"train.de"});
}

}  // namespace
}  // namespace cait::e2e
