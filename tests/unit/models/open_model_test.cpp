#include "models/open_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "models/catalogue.h"
#include "support/temporary_folder.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
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

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    const TemporaryFolder folder_;
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
    const FoundModel found = find_model({.weights = path("run"),
                                         .settings = {{"classes", "5"}},
                                         .load = {.allow_fresh_head = true}},
                                        {});
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
}

// Of `eval --compare` NAME used to be a preset, of `analyze --weights` a label.
TEST_F(OpenModel, ANameBeforeAFileIsALabelAndAPresetWhereThereIsOne) {
    const OpenedModel labelled =
        open_model(one_of_several("mine=" + path("named.safetensors"), {}, "--compare"));
    EXPECT_EQ(labelled.label, "mine");
    EXPECT_EQ(labelled.model.spec().name, "cait_xxs24_224");
    // The preset is taken at its word, as with --model: the file's is another one.
    EXPECT_THROW(open_model(one_of_several("deit_tiny_patch16_224=" + path("named.safetensors"), {},
                                           "--compare")),
                 Error);
    try {
        one_of_several("cait_s2_224=official", {}, "--compare");
        FAIL() << "expected UsageError";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("--compare cait_s2_224=official: unknown model"));
    }
    EXPECT_THAT(
        unique_labels({{{.label = "a"}, "x.pth"}, {{.label = "a"}, "y.pth"}, {{}, "z.pth"}}),
        ElementsAre("a (x)", "a (y)", "z"));
}

TEST_F(OpenModel, TheEpochOfARunIsBestUnlessItSaysOtherwise) {
    model_.save(folder_ / "run/best.safetensors");
    model_.save(folder_ / "run/last.safetensors");
    const auto file = [&](const std::string& words) {
        return find_model({.weights = path(words)}, {}).file;
    };
    EXPECT_EQ(file("run"), path("run/best.safetensors"));
    EXPECT_EQ(file("run:best"), path("run/best.safetensors"));
    EXPECT_EQ(file("run:last"), path("run/last.safetensors"));
    EXPECT_THROW(file("run:last_ema"), Error);
    EXPECT_THROW(file("run:first"), Error);  // no such file
}

TEST_F(OpenModel, APreparationThatNobodyNamesIsReported) {
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : model_.weights()) tensors.push_back({name, tensor});
    write_safetensors(path("foreign.safetensors"), tensors, {});
    ModelWords words{.weights = path("foreign.safetensors"),
                     .model = "cait_xxs24_224",
                     .settings = small_,
                     .report_preparation = true};
    EXPECT_THAT(open_model(words).notes,
                ElementsAre(AllOf(HasSubstr("foreign.safetensors does not say how images are"),
                                  HasSubstr("cait_xxs24_224: crop ratio 1, centre, bicubic; mean "
                                            "0.485"))));
    words.preparation.normalisation = "inception";
    words.image_size = "16";
    const OpenedModel told = open_model(words);
    EXPECT_THAT(told.notes, ElementsAre(HasSubstr("4x4 -> 2x2")));
    EXPECT_EQ(told.model.preprocessing().mean[2], 0.5F);
    EXPECT_EQ(told.model.preprocessing().crop_ratio, 1);
    words = {.weights = path("named.safetensors"), .report_preparation = true};
    EXPECT_THAT(open_model(words).notes, IsEmpty());
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
