#include "cait/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "weights/safetensors.h"
#include "weights/weight_file.h"

namespace cait {
namespace {

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
    const Model loaded = Model::load(path_, "", {{"classes", "7"}, {"image_size", "16x48"}});
    EXPECT_THAT(loaded.notes(), ElementsAre(HasSubstr("4x4 -> 2x6"), HasSubstr("3 -> 7 classes")));
    EXPECT_EQ(loaded.weights().at("head.weight").shape(), (Shape{7, 16}));
    EXPECT_EQ(loaded.weights().at("pos_embed").shape(), (Shape{1, 12, 16}));
}

TEST_F(ModelFile, ReplacedHeadIsFreshFromTheSeed) {
    Model::create("cait_xxs24_224", kModelTiny, 1).save(path_);
    const auto head = [&](std::uint64_t seed) {
        Model::LoadOptions options;
        options.seed = seed;
        return Model::load(path_, "", {{"classes", "7"}}, options).weights().at("head.weight");
    };
    EXPECT_TRUE(std::ranges::equal(head(5).floats(), head(5).floats()));
    EXPECT_FALSE(std::ranges::equal(head(5).floats(), head(6).floats()));
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
    const Model model = Model::create("cait_xxs24_224", kModelTiny);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : model.weights()) tensors.push_back({name, tensor});
    write_safetensors(path_, tensors, {});
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
