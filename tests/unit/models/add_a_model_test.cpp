// The family of docs/add-a-model.md, which is compiled from the page itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rename.h"
#include "graph/initialize.h"
#include "graph/reference.h"
#include "models/catalogue.h"

namespace cait {

Family plain_family();  // of the page

namespace {

using testing::HasSubstr;

TEST(AddAModel, TheFamilyOfThePageRuns) {
    const Family family = plain_family();
    ASSERT_EQ(family.presets.size(), 1U);
    const Preset& preset = family.presets[0];
    ModelSpec spec{preset.name, &family, &preset, preset.architecture->clone()};
    Settings keys;
    spec.architecture->bind(keys);
    for (const auto& [key, value] : SettingList{
             {"image_size", "32"}, {"patch", "8"}, {"dim", "12"}, {"depth", "2"}, {"classes", "5"}})
        keys.set(key, value);
    const Graph graph = record(spec, {.taps = {"logits", "features", "tokens"}});
    const auto outputs =
        run_reference(graph, Tensor::zeros(DType::f32, {2, 3, 32, 32}), initialize(graph, 1));
    EXPECT_EQ(outputs.at("logits").shape(), (Shape{2, 5}));
    EXPECT_EQ(outputs.at("features").shape(), (Shape{2, 12}));
    EXPECT_EQ(outputs.at("tokens").shape(), (Shape{2, 16, 12}));
    EXPECT_EQ(to_alias("norm.weight", spec.architecture->renames()), "fc_norm.weight");

    keys.set("dim", "9");
    try {
        spec.architecture->check();
        ADD_FAILURE() << "accepted";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("dim must be even, found 9"));
    }
}

}  // namespace
}  // namespace cait
