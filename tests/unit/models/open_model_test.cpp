#include "models/open_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "models/catalogue.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OpenModel : public testing::Test {
protected:
    OpenModel() {
        fs::create_directories(folder_ / "run");
        model_.set_classes({"a", "b", "c"});
        model_.save(folder_ / "named.safetensors");
    }
    ~OpenModel() override { fs::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    const fs::path folder_ = fs::path(testing::TempDir()) / "open_model_test";
    const SettingList small_ = {{"image_size", "32"}, {"patch", "8"}, {"dim", "16"},
                                {"depth", "1"},       {"heads", "2"}, {"classes", "3"}};
    Model model_ = Model::create("cait_xxs24_224", small_);
};

TEST_F(OpenModel, AFileAloneSaysAllAboutItself) {
    const OpenedModel opened = open_model({.weights = path("named.safetensors")});
    EXPECT_EQ(opened.label, "cait_xxs24_224");
    EXPECT_EQ(opened.source.file, path("named.safetensors"));
    EXPECT_THAT(opened.model.classes(), ElementsAre("a", "b", "c"));
    EXPECT_THAT(opened.notes, IsEmpty());
}

TEST_F(OpenModel, WithoutWeightsTheyAreFreshByTheSeed) {
    const OpenedModel opened =
        open_model({.model = "cait_xxs24_224", .settings = small_, .load = {.seed = 7}});
    const Model same = Model::create("cait_xxs24_224", small_, 7);
    const Tensor& head = same.weights().at("head.weight");
    const auto& found = opened.model.weights().at("head.weight").floats();
    EXPECT_TRUE(std::ranges::equal(found, head.floats()));
}

// Notes come once, those about the choice of the file before those about the model.
TEST_F(OpenModel, NotesTellWhatTheWordsMeantAndWhatWasAdapted) {
    model_.save(folder_ / "run/last.safetensors");
    const FoundModel found =
        find_model({.weights = path("run"), .settings = {{"classes", "5"}}}, {});
    EXPECT_EQ(found.file, path("run/last.safetensors"));
    const OpenedModel opened = open_model(found);
    ASSERT_EQ(opened.notes.size(), 2U);
    EXPECT_THAT(opened.notes[0], HasSubstr("no best.safetensors yet"));
    EXPECT_THAT(opened.notes[1], HasSubstr(path("run/last.safetensors: ")));
    EXPECT_TRUE(opened.model.has_fresh_head());
}

TEST_F(OpenModel, ClassesGetTheNamesOfAFile) {
    std::ofstream(path("names.txt")) << "x\ny\nz\n";
    ModelWords words{.weights = path("named.safetensors"), .classes = path("names.txt")};
    EXPECT_THAT(open_model(words).model.classes(), ElementsAre("x", "y", "z"));
    std::ofstream(path("names.txt")) << "x\ny\n";
    EXPECT_THROW(open_model(words), Error);
}

TEST_F(OpenModel, ImagenetsNamesAreGivenOnlyOnRequestAndSaid) {
    SettingList settings = small_;
    settings.back().second = "1000";
    Model::create("cait_xxs24_224", settings).save(folder_ / "large.safetensors");
    ModelWords words{.weights = path("large.safetensors")};
    EXPECT_THAT(open_model(words).model.classes(), IsEmpty());
    words.imagenet_names = true;
    const OpenedModel opened = open_model(words);
    EXPECT_EQ(opened.model.classes().at(0), "tench");
    EXPECT_THAT(opened.notes, ElementsAre(HasSubstr("the names are those of ImageNet-1k")));
}

TEST_F(OpenModel, OneOfSeveralTakesTheCommonModelOnlyIfItsFileNamesNone) {
    const ModelWords common{.model = "deit_tiny_patch16_224", .settings = {{"classes", "7"}}};
    const OpenedModel own =
        open_model(one_of_several(path("named.safetensors"), common, "--weights"));
    EXPECT_EQ(own.model.spec().name, "cait_xxs24_224");
    EXPECT_EQ(own.source.words.model, "");  // opens the same model again
    const ModelWords named = one_of_several("cait_s24_224=official", common, "--weights");
    EXPECT_EQ(named.model, "cait_s24_224");
    EXPECT_EQ(named.weights, "official");
    EXPECT_THAT(named.settings, IsEmpty());
    try {
        one_of_several("cait_s2_224=x.pth", common, "--compare");
        FAIL() << "expected UsageError";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("--compare cait_s2_224=x.pth: "));
    }
}

TEST_F(OpenModel, ModelsOfOneNameAreLabelledByTheirFiles) {
    model_.save(folder_ / "run/best.safetensors");
    const auto models =
        open_models({{{}, path("named.safetensors")}, {{}, path("run/best.safetensors")}});
    EXPECT_EQ(models[0].label, "named");
    EXPECT_EQ(models[1].label, "best");
    EXPECT_THAT(unique_names({"a/best.safetensors", "b/best.safetensors", "c.pth"}),
                ElementsAre("a/best", "b/best", "c"));
}

}  // namespace
}  // namespace cait
