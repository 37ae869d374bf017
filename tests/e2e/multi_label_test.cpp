// Several classes per image, from the data to the answers: learned in seconds, then asked of every
// program.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cait/classifier.h"
#include "cait/evaluate.h"
#include "e2e/served.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const char* const kColours[] = {"red", "green", "blue"};

class MultiLabel : public Served {
protected:
    MultiLabel() {
        table("train", 64);
        table("val", 24);
    }

    // Three of the four quarters of an image are each of a colour or grey. Bit c of `classes` says
    // whether it has colour c.
    std::string picture(const std::string& name, unsigned classes) const {
        RandomStream random(1, name);
        Image image = Image::blank(16, 16, 3);
        for (std::size_t p = 0; p < image.pixels.size(); ++p) {
            const std::size_t channel = p % 3, x = p / 3 % 16, y = p / 48;
            const std::size_t quarter = x / 8 + y / 8 * 2;
            const bool coloured = quarter < 3 && (classes >> quarter & 1U) != 0;
            image.pixels[p] = std::uint8_t((coloured ? (channel == quarter ? 200 : 20) : 100) +
                                           int(random.bits() % 40));
        }
        write_image(folder_ / name, image);
        return name;
    }

    void table(const std::string& part, unsigned count) const {
        std::string text = "path,label\n";
        for (unsigned i = 0; i < count; ++i) {
            std::string labels;
            for (unsigned c = 0; c < 3; ++c)
                if ((i >> c & 1U) != 0)
                    labels += (labels.empty() ? "" : "|") + std::string(kColours[c]);
            text += picture(fmt::format("{}-{}.png", part, i), i % 8) + "," + labels + "\n";
        }
        write(part + ".csv", text);
    }

    std::string uri(const std::string& part) const {
        return "csv:" + path(part + ".csv") + "?several=true";
    }

    Words recipe(const std::string& run, const Words& more = {}) const {
        Words words = {"train", "multi-label", "--data",  uri("train"), "--val",    uri("val"),
                       "--out", path(run),     "--batch", "8",          "--epochs", "40"};
        for (const char* setting :
             {"model.image_size=16", "model.patch=8", "model.dim=32", "model.depth=2",
              "model.heads=2", "model.class_layers=1", "schedule.warmup=1", "optim.lr=3e-3",
              "optim.layer_decay=1", "augment.policy=none", "augment.flip=0", "augment.scale=0.9,1",
              "schedule.min_lr=1e-5", "schedule.warmup_lr=1e-6"}) {
            words.emplace_back("--set");
            words.emplace_back(setting);
        }
        return words + more;
    }

    std::map<std::string, std::uint64_t> state(const std::string& run) const {
        std::map<std::string, std::uint64_t> hashes;
        for (const auto& [name, tensor] :
             TensorFile::open(path(run + "/state.safetensors")).tensors)
            hashes.emplace(name, stable_hash({reinterpret_cast<const char*>(tensor.bytes()),
                                              std::size_t(tensor.byte_size())}));
        return hashes;
    }
};

TEST_F(MultiLabel, IsLearnedMeasuredAndServed) {
    // By the loss: the ranking is perfect long before the decisions are.
    const Finished run = cait(recipe("run", {"--set", "save.best=loss"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("val mAP"));
    EXPECT_THAT(run.out, Not(HasSubstr("top-1")));
    const std::string page = read(path("run/report.html"));
    EXPECT_THAT(page, HasSubstr("mAP"));
    EXPECT_THAT(page, HasSubstr("Each class"));
    EXPECT_THAT(page, HasSubstr("<th>class</th><th class=\"n\">"));

    const Model model = Model::load(path("run/best.safetensors"));
    EXPECT_EQ(model.task().name, "multi_label");
    EXPECT_EQ(model.task().threshold, 0.5);
    EXPECT_THAT(model.classes(), ElementsAre("blue", "green", "red"));

    // cait eval
    const Words eval = {"eval", "--weights", path("run"), "--data", uri("val")};
    const Finished text = cait(eval + Words{"--per-class"});
    ASSERT_EQ(text.status, 0) << text.err;
    for (const char* part : {"mAP", "macro F1", "exact match", "at threshold 0.5", "positives"})
        EXPECT_THAT(text.out, HasSubstr(part));
    const Finished numbers = cait(eval + Words{"--per-class", "--json", "--predictions",
                                               path("answers.csv"), "--report", path("eval.html")});
    ASSERT_EQ(numbers.status, 0) << numbers.err;
    const json found = json::parse(numbers.out);
    EXPECT_GT(found["map"], 0.95);
    EXPECT_GT(found["f1"], 0.9);
    EXPECT_EQ(found["images"], 24);
    EXPECT_EQ(found["threshold"], 0.5);
    EXPECT_EQ(found["classes_without_positives"], 0);
    EXPECT_EQ(found["per_class"][2]["name"], "red");
    EXPECT_EQ(found["per_class"][2]["positives"], 12);
    EXPECT_THAT(read(path("answers.csv")), HasSubstr("blue; green; red"));
    EXPECT_THAT(read(path("eval.html")), HasSubstr("exact match"));
    EXPECT_NEAR(cait::evaluate(model, uri("val"))["map"], found["map"], 1e-6);

    // cait predict
    picture("purple.png", 0b101);
    picture("grey.png", 0);
    const Words predict = {"predict", "--weights", path("run"), path("purple.png"),
                           path("grey.png")};
    const Finished lines = cait(predict);
    ASSERT_EQ(lines.status, 0) << lines.err;
    EXPECT_THAT(lines.out, HasSubstr("grey.png  no class reaches 50.0 %"));
    const Finished listed = cait(predict + Words{"--json"});
    const json answers = json::parse(listed.out);
    ASSERT_EQ(answers[0]["predictions"].size(), 2U) << listed.out;
    EXPECT_THAT((std::set<std::string>{answers[0]["predictions"][0]["label"],
                                       answers[0]["predictions"][1]["label"]}),
                ElementsAre("blue", "red"));
    EXPECT_EQ(answers[0]["threshold"], 0.5);
    EXPECT_TRUE(answers[1]["predictions"].empty());
    const json all = json::parse(cait(predict + Words{"--json", "--threshold", "0"}).out);
    EXPECT_EQ(all[1]["predictions"].size(), 3U);
    const std::string csv = cait(predict + Words{"--csv"}).out;
    EXPECT_THAT(csv, HasSubstr("image,label,class1,score1,class2,score2,class3,score3\n"));
    EXPECT_THAT(csv, HasSubstr("grey.png,,,,,,,\n"));
    const Finished known = cait({"predict", "--weights", path("run"), "--data", uri("val")});
    EXPECT_THAT(known.err, HasSubstr("images with a known class are right"));

    // The library: probabilities that do not add up to one.
    const auto own = Classifier(model).classify(path("purple.png"), 3);
    ASSERT_EQ(own.size(), 3U);
    EXPECT_GT(own[0].probability + own[1].probability, 1.2);
    EXPECT_NEAR(own[0].probability, answers[0]["predictions"][0]["score"].get<double>(), 1e-5);

    // cait serve
    start({path("run/best.safetensors")});
    const json served = json::parse(ask("POST", "/classify", read(path("purple.png"))).body);
    EXPECT_EQ(served["threshold"], 0.5);
    ASSERT_EQ(served["answers"].size(), 2U) << served;
    EXPECT_NEAR(served["answers"][0]["score"], own[0].probability, 1e-5);
    const json none = json::parse(ask("POST", "/classify", read(path("grey.png"))).body);
    EXPECT_TRUE(none["answers"].empty()) << none;
    EXPECT_EQ(stop(), 0);
}

TEST_F(MultiLabel, ResumesToTheLastBit) {
    const Words mixed = {"--epochs", "4", "--set", "augment.mixup=0.8", "--set", "save.steps=1"};
    ASSERT_EQ(cait(recipe("whole", mixed)).status, 0);
    {
        Running run(recipe("broken", mixed));
        ASSERT_TRUE(eventually([&] {
            return run.over() || std::filesystem::exists(path("broken/state.safetensors"));
        }));
        run.signal(SIGKILL);
        run.wait();
    }
    const Finished rest = cait({"train", "--resume", path("broken")});
    ASSERT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(state("whole"), state("broken"));
}

TEST_F(MultiLabel, HoldsImagesOutAndRemembersThem) {
    Words words = recipe("held", {"--epochs", "2"});
    const auto val = std::ranges::find(words, "--val");
    words.erase(val, val + 2);
    const Finished run = cait(words);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("held out"));
    EXPECT_EQ(cait({"train", "--resume", path("held"), "--epochs", "3"}).status, 0);
}

TEST_F(MultiLabel, SaysWhatIsWrong) {
    Words words = recipe("wrong");
    words[1] = "small";
    words.emplace_back("--allow-unused");
    expect_refused(cait(words), 1, {"expected one label per image", "multi_label"});
    expect_refused(cait(recipe("wrong", {"--set", "save.best=top1"})), 2,
                   {"save.best", "map, f1, macro_f1, exact_match, loss"});
    expect_refused(cait(recipe("wrong", {"--set", "loss.smoothing=0.1"})), 2, {"loss.smoothing"});
    expect_refused(cait(recipe("wrong", {"--set", "loss.threshold=2"})), 2, {"loss.threshold"});
    EXPECT_FALSE(std::filesystem::exists(path("wrong")));
}

}  // namespace
}  // namespace cait::e2e
