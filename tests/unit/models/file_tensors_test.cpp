#include "models/file_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/alias_weights.h"
#include "support/small_models.h"

namespace cait {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

WeightFile file_of(const Model& model) {
    WeightFile file;
    for (const auto& [name, tensor] : model.weights()) file.tensors.push_back({name, tensor});
    return file;
}

TEST(FileTensors, TheHeadTellsTheNumberOfClassesOfEveryPreset) {
    for (const test::SmallPreset& small : test::small_presets()) {
        SettingList settings = small.settings;
        settings.emplace_back("classes", "4");
        const Model model = Model::create(small.name, settings);
        const ModelSpec other = configure(small.name, small.settings);  // of five classes
        EXPECT_EQ(classes_in(file_of(model), other), 4) << small.name;
        WeightFile theirs;
        theirs.tensors = alias_weights(model);
        EXPECT_EQ(classes_in(theirs, other), 4) << small.name;
    }
}

TEST(FileTensors, AHeadlessFileTellsNone) {
    WeightFile file = file_of(Model::create("deit_tiny_patch16_224", test::kSmall));
    std::erase_if(file.tensors,
                  [](const NamedTensor& entry) { return entry.name.starts_with("head."); });
    EXPECT_EQ(classes_in(file, configure("deit_tiny_patch16_224", test::kSmall)), std::nullopt);
}

TEST(FileTensors, APresetIsRecognisedByNamesAndShapes) {
    const WeightFile resnet = file_of(Model::create("resnet18", {{"classes", "7"}}));
    EXPECT_THAT(fitting_models(resnet), ElementsAre("resnet18"));
    // The position embedding tells 224 pixels from 384.
    const WeightFile cait = file_of(Model::create("cait_xxs24_224"));
    EXPECT_THAT(fitting_models(cait), ElementsAre("cait_xxs24_224"));
    // Some have the same parameters.
    WeightFile deit = file_of(Model::create("deit_tiny_patch16_224"));
    EXPECT_THAT(fitting_models(deit),
                testing::IsSupersetOf({"vit_tiny_patch16_224", "deit_tiny_patch16_224"}));
    deit.tensors.push_back({"something.else", Tensor::zeros(DType::f32, {1})});
    EXPECT_THAT(fitting_models(deit), IsEmpty());
    deit.tensors.pop_back();
    std::erase_if(deit.tensors, [](const NamedTensor& entry) { return entry.name == "head.bias"; });
    EXPECT_THAT(fitting_models(deit), IsEmpty());  // half a head
    std::erase_if(deit.tensors,
                  [](const NamedTensor& entry) { return entry.name == "head.weight"; });
    EXPECT_THAT(fitting_models(deit), Contains("deit_tiny_patch16_224"));  // a backbone
    EXPECT_THAT(fitting_models({}), IsEmpty());
}

}  // namespace
}  // namespace cait
