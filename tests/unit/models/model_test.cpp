#include "cait/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "weights/safetensors.h"
#include "weights/weight_file.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const SettingList kModelTiny = {{"image_size", "32"}, {"patch", "8"}, {"dim", "16"},
                                {"depth", "2"},       {"heads", "2"}, {"classes", "3"}};

SettingList tiny_and(const SettingList& extra) {
    SettingList settings = kModelTiny;
    settings.insert(settings.end(), extra.begin(), extra.end());
    return settings;
}

class ModelFile : public testing::Test {
protected:
    ModelFile()
        : path_(std::filesystem::path(testing::TempDir()) /
                (std::string("model_test_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors")) {}
    ~ModelFile() override { std::filesystem::remove(path_); }

    // The weights alone, as others write them.
    void write_foreign(const Model& model) const {
        std::vector<NamedTensor> tensors;
        for (const auto& [name, tensor] : model.weights()) tensors.push_back({name, tensor});
        write_safetensors(path_, tensors, {});
    }

    std::filesystem::path path_;
};

TEST_F(ModelFile, CarriesItsConfiguration) {
    Model::create("cait_xxs24_224", tiny_and({{"talking_heads", "none"}})).save(path_);
    const Model loaded = Model::load(path_);
    EXPECT_EQ(loaded.info().name, "cait_xxs24_224");
    EXPECT_EQ(loaded.settings().at("talking_heads"), "none");
    EXPECT_EQ(loaded.settings().at("dim"), "16");
}

TEST_F(ModelFile, LoadedWeightsStayMapped) {
    Model::create("cait_xxs24_224", kModelTiny).save(path_);
    const Model loaded = Model::load(path_);
    ASSERT_FALSE(loaded.weights().empty());
    // Only views of the mapped file cannot be written to.
    for (const auto& [name, tensor] : loaded.weights()) EXPECT_FALSE(tensor.writable()) << name;
}

TEST_F(ModelFile, SettingsOfTheCallerWinAndAreNoted) {
    Model::create("cait_xxs24_224", kModelTiny).save(path_);
    const Model loaded = Model::load(path_, "", {{"classes", "7"}, {"image_size", "16x48"}},
                                     {.allow_fresh_head = true});
    EXPECT_THAT(loaded.notes(), ElementsAre(HasSubstr("4x4 -> 2x6"), HasSubstr("3 -> 7 classes")));
    EXPECT_EQ(loaded.weights().at("head.weight").shape(), (Shape{7, 16}));
    EXPECT_EQ(loaded.weights().at("pos_embed").shape(), (Shape{1, 12, 16}));
}

TEST_F(ModelFile, ReplacedHeadIsFreshFromTheSeed) {
    Model::create("cait_xxs24_224", kModelTiny, 1).save(path_);
    const auto head = [&](std::uint64_t seed) {
        Model::LoadOptions options;
        options.seed = seed;
        options.allow_fresh_head = true;
        return Model::load(path_, "", {{"classes", "7"}}, options).weights().at("head.weight");
    };
    EXPECT_TRUE(std::ranges::equal(head(5).floats(), head(5).floats()));
    EXPECT_FALSE(std::ranges::equal(head(5).floats(), head(6).floats()));
}

// It used to answer from random numbers, and only a note said so.
TEST_F(ModelFile, AHeadThatHasLearnedNothingIsRefused) {
    Model::create("cait_xxs24_224", kModelTiny).save(path_);
    try {
        Model::load(path_, "", {{"classes", "7"}});
        FAIL() << "loaded";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::data);
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr(path_.string()), HasSubstr("head replaced: 3 -> 7 classes"),
                          HasSubstr("allow_fresh_head")));
    }
    EXPECT_FALSE(Model::load(path_).has_fresh_head());
}

TEST_F(ModelFile, AForeignFileHasAsManyClassesAsItsHead) {
    write_foreign(Model::create("cait_xxs24_224", kModelTiny));
    SettingList settings = kModelTiny;
    std::erase_if(settings, [](const auto& setting) { return setting.first == "classes"; });
    const Model loaded = Model::load(path_, "cait_xxs24_224", settings);
    EXPECT_EQ(loaded.settings().at("classes"), "3");
    EXPECT_FALSE(loaded.has_fresh_head());
    EXPECT_TRUE(loaded.has_assumed_preprocessing());
}

// The names used to be lost, and the head was then wired by position.
TEST_F(ModelFile, WhateverPresetReadsItNamesPreparationAndRecordAreTheFiles) {
    Model model = Model::create("cait_xxs24_224", kModelTiny);
    model.set_classes({"x", "y", "z"});
    model.set_preprocessing({.crop_ratio = 0.5, .mean = {0.1F, 0.2F, 0.3F}});
    model.set_training({{"top1", "0.9"}});
    model.set_task({"multi_label", 0.25});
    model.set_name("mine");
    model.save(path_);
    SettingList settings = kModelTiny;
    std::erase_if(settings, [](const auto& setting) { return setting.first == "classes"; });
    const Model other = Model::load(path_, "cait_xxs36_224", settings);
    EXPECT_EQ(other.info().name, "cait_xxs36_224");
    EXPECT_THAT(other.classes(), ElementsAre("x", "y", "z"));
    EXPECT_EQ(other.preprocessing(), model.preprocessing());
    EXPECT_FALSE(other.has_assumed_preprocessing());
    EXPECT_EQ(other.training(), model.training());
    EXPECT_EQ(other.task(), model.task());
    EXPECT_EQ(other.name(), "mine");
}

TEST_F(ModelFile, OverItselfCanBeSaved) {
    const Model model = Model::create("cait_xxs24_224", kModelTiny);
    model.save(path_);
    const Model loaded = Model::load(path_);
    loaded.save(path_);  // its weights are mapped from the very file that is replaced
    const Model again = Model::load(path_);
    for (const auto& [name, tensor] : model.weights())
        EXPECT_TRUE(std::ranges::equal(tensor.floats(), again.weights().at(name).floats())) << name;
}

TEST_F(ModelFile, FileWithoutConfigurationNeedsAName) {
    write_foreign(Model::create("cait_xxs24_224", kModelTiny));
    EXPECT_THROW(Model::load(path_), UsageError);
    EXPECT_NO_THROW(Model::load(path_, "cait_xxs24_224", kModelTiny));
}

TEST_F(ModelFile, HostileMetadataIsAnErrorNotACrash) {
    for (const char* settings : {"[1]", "{\"dim\":3}", "{", "{\"dim\":\"-4\"}"}) {
        write_safetensors(path_, {},
                          {{"cait.model", "cait_xxs24_224"}, {"cait.settings", settings}});
        try {
            Model::load(path_);
            ADD_FAILURE() << settings;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
            EXPECT_THAT(error.what(), HasSubstr("metadata"));
        }
    }
    write_safetensors(path_, {}, {{"cait.model", "no_such_model"}});
    EXPECT_THROW(Model::load(path_), Error);
}

}  // namespace
}  // namespace cait
