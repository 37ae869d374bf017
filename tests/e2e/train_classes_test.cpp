// Classes are known by name: to a teacher, and to weights that a run starts from.
#include <gmock/gmock.h>

#include "cait/model.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class TrainClasses : public TrainRun {
protected:
    // The same images under other names, so that their order changes.
    void rename(const std::string& from, const std::string& to) const {
        for (const char* part : {"train", "val"})
            std::filesystem::rename(folder_ / part / from, folder_ / part / to);
    }
};

// A teacher of blue, green, red taught blue as "azure", green as "blue" and so on: a student of
// "blue", "green", "zinnober" must not learn from it by position.
TEST_F(TrainClasses, ATeacherIsAskedByName) {
    ASSERT_EQ(cait(recipe("teacher", {"--epochs", "8"})).status, 0);
    const Words distil = {"--epochs", "8",
                          "--set",    "distill.kind=hard",
                          "--set",    "distill.alpha=1",
                          "--set",    "distill.teacher=" + path("teacher/best.safetensors")};
    rename("red", "zinnober");
    const Finished other = cait(recipe("other", distil));
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.err, HasSubstr("1 of 3 are not among the teacher's 3: zinnober"));

    // Of fewer classes than the teacher has, in other places: right, from the teacher alone.
    rename("zinnober", "red");
    for (const char* part : {"train", "val"}) std::filesystem::remove_all(folder_ / part / "blue");
    Words words = distil;
    words.insert(words.end(), {"--batch", "8"});
    const Finished fewer = cait(recipe("fewer", words));
    ASSERT_EQ(fewer.status, 0) << fewer.err;
    EXPECT_THAT(fewer.err, HasSubstr("matched by name"));
    EXPECT_THAT(fewer.out, HasSubstr("val top-1 100.00 %"));
}

// As many classes, but others: the old head knows nothing of them.
TEST_F(TrainClasses, AHeadForOtherClassesIsMadeAnew) {
    ASSERT_EQ(cait(recipe("first", {"--epochs", "8"})).status, 0);
    const std::string weights = path("first/best.safetensors");
    const Words words = {"--weights", weights,         "--epochs", "1",
                         "--set",     "optim.lr=1e-9", "--set",    "schedule.min_lr=0"};

    const Finished same = cait(recipe("same", words));
    ASSERT_EQ(same.status, 0) << same.err;
    EXPECT_THAT(same.out, HasSubstr("val top-1 100.00 %"));

    // red becomes the first class: by position the head would answer blue for it.
    rename("red", "amber");
    const Finished partly = cait(recipe("partly", words));
    ASSERT_EQ(partly.status, 0) << partly.err;
    EXPECT_THAT(partly.err, HasSubstr("head: 2 classes taken over by name, 1 new: amber"));
    const Model before = Model::load(weights), after = Model::load(path("partly/last.safetensors"));
    ASSERT_THAT(after.classes(), testing::ElementsAre("amber", "blue", "green"));
    const auto row = [](const Model& model, int index) {
        return model.weights().at("head.weight").floats()[std::size_t(index) * 16];
    };
    EXPECT_NEAR(row(after, 1), row(before, 0), 1e-5);
    EXPECT_NEAR(row(after, 2), row(before, 1), 1e-5);

    rename("blue", "sky");
    rename("green", "moss");
    const Finished anew = cait(recipe("anew", words));
    ASSERT_EQ(anew.status, 0) << anew.err;
    EXPECT_THAT(anew.err, HasSubstr("head rebuilt for 3 classes: none of them is among the 3"));
}

// The documented way to another image size. The names used to be lost with another preset, and the
// head was wired by position.
TEST_F(TrainClasses, AnotherPresetTakesTheClassesOverByName) {
    ASSERT_EQ(cait(recipe("first", {"--epochs", "8"})).status, 0);
    rename("red", "amber");  // which becomes the first class
    const Finished run =
        cait(recipe("second", {"--weights", path("first"), "--model", "cait_xxs36_224", "--epochs",
                               "1", "--set", "optim.lr=1e-9", "--set", "schedule.min_lr=0"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("head: 2 classes taken over by name, 1 new: amber"));
    EXPECT_THAT(run.err, Not(HasSubstr("does not name")));
    rename("amber", "red");
    const Finished same =
        cait(recipe("third", {"--weights", path("first"), "--model", "cait_xxs36_224", "--epochs",
                              "1", "--set", "optim.lr=1e-9", "--set", "schedule.min_lr=0"}));
    ASSERT_EQ(same.status, 0) << same.err;
    EXPECT_THAT(same.out, HasSubstr("val top-1 100.00 %"));
}

// A file that names no classes says no more than how many they are.
TEST_F(TrainClasses, AHeadWithoutNamesIsKeptAndSaid) {
    ASSERT_EQ(cait(recipe("first", {"--epochs", "1"})).status, 0);
    Model nameless = Model::load(path("first/best.safetensors"));
    nameless.set_classes({});
    nameless.save(path("nameless.safetensors"));
    const Finished run =
        cait(recipe("second", {"--epochs", "1", "--weights", path("nameless.safetensors")}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("does not name its 3 classes: the head is kept"));
}

TEST_F(TrainClasses, TheModelIsThatOfTheWeights) {
    ASSERT_EQ(cait(recipe("first", {"--epochs", "1"})).status, 0);
    const Finished run = cait({"train", "finetune", "--data", "folder:" + path("train"), "--val",
                               "folder:" + path("val"), "--epochs", "1", "--weights", path("first"),
                               "--out", path("second")});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("16x16 pixels"));
    EXPECT_THAT(run.err, Not(HasSubstr("random weights")));
}

}  // namespace
}  // namespace cait::e2e
