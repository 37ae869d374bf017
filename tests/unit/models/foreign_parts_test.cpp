// Files of another configuration of the same family: a head that is left out, a class token and a
// head that become one per class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/convert.h"
#include "cait/model.h"
#include "weights/safetensors.h"
#include "weights/weight_file.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class ForeignParts : public testing::Test {
protected:
    ForeignParts()
        : path_(std::filesystem::path(testing::TempDir()) /
                (std::string("foreign_parts_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors")) {}
    ~ForeignParts() override { std::filesystem::remove(path_); }

    std::filesystem::path path_;
};

const SettingList kVolo = {{"image_size", "32"}, {"layers", "1,1,1,1"}, {"dims", "8,16,16,16"},
                           {"heads", "2,4,2,4"}, {"stem", "6"},         {"classes", "5"}};
const SettingList kPatchConvNet = {
    {"image_size", "32"}, {"dim", "16"}, {"depth", "2"}, {"classes", "3"}};

TEST_F(ForeignParts, VoloWithoutItsSecondHeadTakesAFileThatHasIt) {
    const Model whole = Model::create("volo_d1_224", kVolo, 1);
    whole.save(path_);
    const Model loaded = Model::load(path_, "", {{"aux_head", "false"}});
    EXPECT_THAT(loaded.notes(),
                ElementsAre("aux_head left out: the model is set to do without it"));
    EXPECT_FALSE(loaded.weights().contains("aux_head.weight"));
    EXPECT_TRUE(std::ranges::equal(loaded.weights().at("head.weight").floats(),
                                   whole.weights().at("head.weight").floats()));
    // Only this part: what nobody knows is still refused.
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : whole.weights()) tensors.push_back({name, tensor});
    tensors.push_back({"aux_header.weight", Tensor::zeros(DType::f32, {1})});
    write_safetensors(path_, tensors, whole.metadata());
    try {
        Model::load(path_, "", {{"aux_head", "false"}});
        ADD_FAILURE() << "loaded";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("1 unexpected: aux_header.weight"));
    }
}

TEST_F(ForeignParts, PatchConvNetWithATokenPerClassStartsFromASingleOne) {
    const Model single = Model::create("patchconvnet_s60", kPatchConvNet, 1);
    single.save(path_);
    const Model multi = Model::load(path_, "", {{"multi", "true"}});
    EXPECT_THAT(multi.notes(),
                UnorderedElementsAre("cls_token repeated for 3 classes",
                                     "head divided into a head for each of 3 classes"));
    const auto token = single.weights().at("cls_token").floats();
    const auto tokens = multi.weights().at("cls_token").floats();
    ASSERT_EQ(tokens.size(), 3 * token.size());
    const auto head = single.weights().at("head.weight").floats();
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_TRUE(std::ranges::equal(tokens.subspan(16 * k, 16), token));
        const Tensor& row = multi.weights().at("head." + std::to_string(k) + ".weight");
        EXPECT_EQ(row.shape(), (Shape{1, 16}));
        EXPECT_TRUE(std::ranges::equal(row.floats(), head.subspan(16 * k, 16)));
        EXPECT_EQ(multi.weights().at("head." + std::to_string(k) + ".bias").shape(), (Shape{1}));
    }
    // What it is now loads by itself, without adaptation.
    multi.save(path_);
    const Model again = Model::load(path_);
    EXPECT_TRUE(again.notes().empty());
    EXPECT_TRUE(std::ranges::equal(again.weights().at("cls_token").floats(), tokens));
}

TEST_F(ForeignParts, HeadRowsOfAnotherFormatAreConverted) {
    const Model single = Model::create("patchconvnet_s60", kPatchConvNet, 1);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : single.weights())
        tensors.push_back({name, convert(tensor, DType::bf16)});
    write_safetensors(path_, tensors, single.metadata());
    const Model multi = Model::load(path_, "", {{"multi", "true"}});
    const Tensor rounded =
        convert(convert(single.weights().at("head.weight"), DType::bf16), DType::f32);
    EXPECT_TRUE(std::ranges::equal(multi.weights().at("head.2.weight").floats(),
                                   rounded.floats().subspan(32, 16)));
}

TEST_F(ForeignParts, AnotherNumberOfClassesMakesTheHeadsAnew) {
    Model::create("patchconvnet_s60", kPatchConvNet, 1).save(path_);
    const Model multi =
        Model::load(path_, "", {{"multi", "true"}, {"classes", "4"}}, {.allow_fresh_head = true});
    EXPECT_THAT(multi.notes(), UnorderedElementsAre("cls_token repeated for 4 classes",
                                                    "head replaced: 3 -> 4 classes"));
    EXPECT_EQ(multi.weights().at("head.3.weight").shape(), (Shape{1, 16}));
}

TEST_F(ForeignParts, AHeadOfAnotherWidthIsToldOnce) {
    const Model single = Model::create("patchconvnet_s60", kPatchConvNet, 1);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : single.weights())
        tensors.push_back(
            {name, name == "head.weight" ? Tensor::zeros(DType::f32, {3, 15}) : tensor});
    write_safetensors(path_, tensors, single.metadata());
    try {
        Model::load(path_, "", {{"multi", "true"}});
        ADD_FAILURE() << "loaded";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(),
                    HasSubstr("1 of wrong shape: head.weight expected [3, 16], found [3, 15]"));
    }
}

TEST_F(ForeignParts, AHeadBesideTheHeadsOfTheClassesIsUnexpected) {
    const Model multi = Model::create("patchconvnet_s60_multi", kPatchConvNet, 1);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : multi.weights()) tensors.push_back({name, tensor});
    tensors.push_back({"head.weight", Tensor::zeros(DType::f32, {3, 16})});
    write_safetensors(path_, tensors, multi.metadata());
    try {
        Model::load(path_);
        ADD_FAILURE() << "loaded";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("1 unexpected: head.weight"));
    }
}

}  // namespace
}  // namespace cait
