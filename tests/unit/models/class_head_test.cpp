// Model::with_classes: what a head knows of a class goes with the class's name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "cait/model.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const SettingList kClassHeadTiny{{"image_size", "32"}, {"patch", "8"}, {"dim", "16"},
                                 {"depth", "2"},       {"heads", "2"}, {"classes", "3"}};

Model animals(const std::string& preset = "cait_xxs24_224", const SettingList& extra = {}) {
    SettingList settings = kClassHeadTiny;
    settings.insert(settings.end(), extra.begin(), extra.end());
    Model model = Model::create(preset, settings, 1);
    model.set_classes({"cat", "dog", "eel"});
    return model;
}

std::vector<float> row(const Model& model, const std::string& name, std::int64_t index) {
    const std::span<const float> all = model.weights().at(name).floats();
    const auto size = std::size_t(model.weights().at(name).shape()[-1]);
    const auto part = all.subspan(std::size_t(index) * size, size);
    return {part.begin(), part.end()};
}

TEST(ClassHead, MovesRowsByName) {
    const Model before = animals();
    const Model after = before.with_classes({"eel", "ant", "cat", "bee"}, 9);
    EXPECT_THAT(after.classes(), ElementsAre("eel", "ant", "cat", "bee"));
    EXPECT_EQ(row(after, "head.weight", 0), row(before, "head.weight", 2));
    EXPECT_EQ(row(after, "head.weight", 2), row(before, "head.weight", 0));
    for (int old = 0; old < 3; ++old)
        EXPECT_NE(row(after, "head.weight", 1), row(before, "head.weight", old));
    EXPECT_EQ(after.weights().at("head.bias").shape(), (Shape{4}));
    EXPECT_THAT(after.notes(), ElementsAre("head: 2 classes taken over by name, 2 new: "
                                           "ant, bee"));
    // Nothing but the head has changed.
    const auto trunk = before.weights().at("pos_embed").floats();
    EXPECT_TRUE(std::ranges::equal(after.weights().at("pos_embed").floats(), trunk));
}

TEST(ClassHead, IsMadeAnewForOtherClassesEvenIfThereAreAsMany) {
    const Model before = animals();
    const Model after = before.with_classes({"car", "bus", "van"}, 9);
    for (int i = 0; i < 3; ++i)
        for (int old = 0; old < 3; ++old)
            EXPECT_NE(row(after, "head.weight", i), row(before, "head.weight", old));
    EXPECT_THAT(after.notes(), ElementsAre(HasSubstr("none of them is among the 3")));
}

TEST(ClassHead, StaysAsItIsForTheSameClasses) {
    const Model after = animals().with_classes({"cat", "dog", "eel"});
    EXPECT_THAT(after.notes(), ElementsAre());
    EXPECT_THROW(animals().with_classes({}), UsageError);
}

// PatchConvNet's multi-class form has a token and a head for each class.
TEST(ClassHead, MovesTokensAndHeadsOfClasses) {
    const Model before = animals("patchconvnet_s60_multi");
    const Model after = before.with_classes({"dog", "ant"}, 9);
    EXPECT_EQ(row(after, "cls_token", 0), row(before, "cls_token", 1));
    EXPECT_EQ(row(after, "head.0.weight", 0), row(before, "head.1.weight", 0));
}

}  // namespace
}  // namespace cait
