// Weights that say little about themselves, or are read by another preset than their own: what the
// commands answer is right, or they refuse to answer.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "e2e/tiny_models.h"
#include "support/colour_model.h"
#include "unit/data/support.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// As the presets with which the tiny models are read, without a number of classes.
const Words kReadAsXxs36 = {"--model", "cait_xxs36_224",      "--set", "model.image_size=16",
                            "--set",   "model.patch=8",       "--set", "model.dim=16",
                            "--set",   "model.depth=2",       "--set", "model.heads=2",
                            "--set",   "model.class_layers=1"};
const Words kReadAsResmlp = {"--model", "resmlp_24_224", "--set", "model.image_size=16",
                             "--set",   "model.patch=8", "--set", "model.dim=3",
                             "--set",   "model.depth=1"};

class ForeignWeights : public InFolder {
protected:
    ForeignWeights() {
        for (const char* name : {"blue", "green", "red"})
            for (int i = 0; i < 2; ++i)
                data_test::put(
                    folder_ / "set" / name / (std::to_string(i) + ".png"),
                    data_test::png(test::solid(name[0] == 'r' ? 200 : 20, name[0] == 'g' ? 200 : 20,
                                               name[0] == 'b' ? 200 : 20)));
        photo_ = path("set/red/0.png");
    }

    std::string foreign(const Model& model) const {
        std::vector<NamedTensor> tensors;
        for (const auto& [name, tensor] : model.weights()) tensors.push_back({name, tensor});
        write_safetensors(folder_ / "foreign.safetensors", tensors, {});
        return path("foreign.safetensors");
    }
    nlohmann::json json(const Words& words) const {
        const Finished run = cait(words + Words{"--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out, nullptr, false);
    }

    std::string photo_;
};

TEST_F(ForeignWeights, AnswerWithAsManyClassesAsTheirHeadHas) {
    const std::string file = foreign(tiny_cait("1"));
    const Finished run = cait(Words{"predict", photo_, "--weights", file} + kReadAsXxs36);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(
        json(Words{"predict", photo_, "--weights", file} + kReadAsXxs36)[0]["predictions"].size(),
        3U);
}

// Exit code 0 and "class 312 0.3 %" it used to be.
TEST_F(ForeignWeights, AreRefusedWhereTheHeadWouldHaveLearnedNothing) {
    const std::string file = foreign(tiny_cait("1"));
    const Words model = kReadAsXxs36 + Words{"--set", "model.classes=7"};
    const std::string set = "folder:" + path("set");
    for (const Words& words :
         {Words{"predict", photo_, "--weights", file},
          Words{"eval", "--data", set, "--weights", file}, Words{"serve", file, "--port", "0"},
          Words{"convert", file, path("o.safetensors")},
          Words{"embed", photo_, "--tap", "logits", "--output", path("o.npy"), "--weights", file}})
        expect_refused(
            cait(words + model), 1,
            {file, "head would have learned nothing", "3 -> 7 classes", "--allow-fresh-head"});
    // For research, and for what does not use the head.
    EXPECT_EQ(
        cait(Words{"predict", photo_, "--weights", file, "--allow-fresh-head"} + model).status, 0);
    EXPECT_EQ(
        cait(Words{"embed", photo_, "--output", path("o.npy"), "--weights", file} + model).status,
        0);
    const auto looks = json(Words{"attend", photo_, "--weights", file} + model)[0]["models"][0];
    EXPECT_TRUE(looks["predictions"].empty()) << looks;  // of which it knows nothing
    EXPECT_FALSE(looks["maps"].empty());
}

// 22 % became 6 %: the head was wired in the order of the data's classes.
TEST_F(ForeignWeights, KeepNamesAndPreparationWhateverPresetReadsThem) {
    Model model = test::colour_model(9);
    model.set_training({{"top1", "0.5"}});
    model.save(folder_ / "mine.safetensors");
    const Words eval = {"eval", "--weights", path("mine.safetensors"), "--data",
                        "folder:" + path("set")};
    const auto own = json(eval), other = json(eval + kReadAsResmlp);
    EXPECT_EQ(own["top1"], 1);
    EXPECT_EQ(other["top1"], 1);
    EXPECT_EQ(other["loss"], own["loss"]);
    ASSERT_EQ(
        cait(Words{"convert", path("mine.safetensors"), path("o.safetensors")} + kReadAsResmlp)
            .status,
        0);
    const Model converted = Model::load(path("o.safetensors"));
    EXPECT_EQ(converted.classes(), model.classes());
    EXPECT_EQ(converted.preprocessing(), model.preprocessing());
    EXPECT_EQ(converted.training(), model.training());
}

TEST_F(ForeignWeights, ArePreparedAsTheCommandLineSaysOrANoteTellsWhatIsAssumed) {
    const std::string file = foreign(test::colour_model(9));
    const Words model = Words{"--weights", file} + kReadAsResmlp;
    const auto answer = [&](const Words& more) {
        return json(Words{"predict", photo_} + model + more)[0]["predictions"][0]["score"];
    };
    const Finished assumed = cait(Words{"predict", photo_} + model);
    EXPECT_THAT(assumed.err, AllOf(HasSubstr("does not say how images are prepared"),
                                   HasSubstr("mean 0.485, 0.456, 0.406")));
    EXPECT_NE(answer({}), answer({"--preparation", "none"}));
    EXPECT_EQ(answer({"--preparation", "inception"}),
              answer({"--mean", "0.5", "--std", "0.5,0.5,0.5"}));
    EXPECT_THAT(cait(Words{"predict", photo_, "--preparation", "none"} + model).err,
                Not(HasSubstr("does not say how")));
    // So do the other commands that look at images.
    const auto loss = [&](const Words& more) {
        return json(Words{"eval", "--data", "folder:" + path("set")} + model + more)["loss"];
    };
    EXPECT_NE(loss({}), loss({"--preparation", "none"}));
    const auto features = [&](const Words& more) {
        EXPECT_EQ(cait(Words{"embed", photo_, "--output", path("f.npy")} + model + more).status, 0);
        return read(path("f.npy"));
    };
    EXPECT_NE(features({}), features({"--preparation", "none"}));
    // convert writes it into the file.
    ASSERT_EQ(cait(Words{"convert", file, path("o.safetensors"), "--mean", "0", "--std", "1",
                         "--crop-ratio", "1", "--interpolation", "bilinear"} +
                   kReadAsResmlp)
                  .status,
              0);
    Preprocessing expected = test::colour_model(9).preprocessing();
    expected.interpolation = "bilinear";
    EXPECT_EQ(Model::load(path("o.safetensors")).preprocessing(), expected);
    for (const Words& bad : {Words{"--mean", "0.5,0.5"}, Words{"--std", "0"}, Words{"--std", "x"}})
        expect_refused(cait(Words{"predict", photo_} + model + bad), 2, {bad[0], bad[1]});
    expect_refused(cait(Words{"predict", photo_, "--preparation", "timm"} + model), 2,
                   {"--preparation"});
}

TEST_F(ForeignWeights, AreRecognisedByTheirTensors) {
    const std::string file = foreign(Model::create("resnet18", {{"classes", "12"}}));
    const Finished run = cait({"inspect", file});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out,
                AllOf(HasSubstr("resnet18 (resnet), recognised by its tensors"),
                      HasSubstr("12, without names"), HasSubstr("assumed, the file names none")));
    expect_refused(cait({"predict", photo_, "--weights", file}), 2,
                   {"does not say which model it is", "its tensors fit resnet18"});
}

}  // namespace
}  // namespace cait::e2e
