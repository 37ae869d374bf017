// [views]: its keys, its rules, and what it makes of an image.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cait/error.h"
#include "train/recipe/recipe_data.h"
#include "train/recipe/recipe_keys.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr ChannelValues kRecipeViewsHalf{0.5F, 0.5F, 0.5F};

std::string recipe_views_refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "no usage error";
}

Recipe recipe_with(const SettingList& values) {
    Recipe recipe;
    for (const auto& [key, value] : values) set_recipe_value(recipe, key, value);
    return recipe;
}

TEST(RecipeViews, EveryKeyArrivesAtTheTransform) {
    const Recipe recipe = recipe_with({{"views.name", "multi-crop"},
                                       {"views.globals", "3"},
                                       {"views.locals", "5"},
                                       {"views.global_size", "48"},
                                       {"views.local_size", "24"},
                                       {"views.global_scale", "0.3,0.9"},
                                       {"views.local_scale", "0.1,0.3"},
                                       {"views.filter", "bilinear"},
                                       {"views.flip", "0.25"},
                                       {"views.jitter", "0.1,0.2,0.3,0.05"},
                                       {"views.jitter_probability", "0.6"},
                                       {"views.grey", "0.15"},
                                       {"views.blur", "0.9,0.2,0.4"},
                                       {"views.blur_radius", "0.2,1.5"},
                                       {"views.solarize", "0.05,0.3,0.1"}});
    const MultiCropSettings found =
        multi_crop_settings(recipe.views, {224, 224}, kRecipeViewsHalf, kImageNetStd);
    EXPECT_EQ(found.globals, 3);
    EXPECT_EQ(found.locals, 5);
    EXPECT_EQ(found.global_size, (ImageSize{48, 48}));
    EXPECT_EQ(found.local_size, (ImageSize{24, 24}));
    EXPECT_EQ(found.global_scale, (Interval{0.3, 0.9}));
    EXPECT_EQ(found.local_scale, (Interval{0.1, 0.3}));
    EXPECT_EQ(found.filter, Filter::bilinear);
    EXPECT_EQ(found.flip, 0.25);
    EXPECT_EQ(found.jitter, (ColourJitter{0.1, 0.2, 0.3, 0.05}));
    EXPECT_EQ(found.jitter_probability, 0.6);
    EXPECT_EQ(found.grey, 0.15);
    EXPECT_EQ(found.blur, (PerView{0.9, 0.2, 0.4}));
    EXPECT_EQ(found.radius, (Interval{0.2, 1.5}));
    EXPECT_EQ(found.solarize, (PerView{0.05, 0.3, 0.1}));
    EXPECT_EQ(found.mean, kRecipeViewsHalf);
    EXPECT_EQ(found.std, kImageNetStd);
}

TEST(RecipeViews, TheStandardValuesAreThoseOfDino) {
    const MultiCropSettings found =
        multi_crop_settings(ViewsPart{}, {224, 160}, kImageNetMean, kImageNetStd);
    const MultiCropSettings dino;
    EXPECT_EQ(found.global_size, (ImageSize{224, 160}));  // the model's
    EXPECT_EQ(found.local_size, dino.local_size);
    EXPECT_EQ(found.global_scale, dino.global_scale);
    EXPECT_EQ(found.local_scale, dino.local_scale);
    EXPECT_EQ(found.jitter, dino.jitter);
    EXPECT_EQ(found.blur, dino.blur);
    EXPECT_EQ(found.solarize, dino.solarize);
}

TEST(RecipeViews, WrongValuesAreNamed) {
    const auto wrong = [](const std::string& key, const std::string& value) {
        return recipe_views_refusal([&] { recipe_with({{key, value}}); });
    };
    EXPECT_THAT(wrong("views.name", "many"), AllOf(HasSubstr("views.name"), HasSubstr("same")));
    EXPECT_THAT(wrong("views.blur", "1,0.5"), HasSubstr("FIRST,OTHERS,LOCAL"));
    EXPECT_THAT(wrong("views.blur", "1,0.5,2"), HasSubstr("from 0 to 1"));
    EXPECT_THAT(wrong("views.solarize", "0,x,0"), HasSubstr("views.solarize"));
    EXPECT_THAT(wrong("views.count", "1"), HasSubstr("views.count"));
    EXPECT_THAT(wrong("views.local_scale", "0.5,0.4"), HasSubstr("views.local_scale"));
    EXPECT_THAT(wrong("views.jitter", "0.4,0.4,0.2,0.9"), HasSubstr("hue"));
}

TEST(RecipeViews, WhatNeedsASingleImageIsRefusedBesideThem) {
    const auto refused = [](const SettingList& more) {
        Recipe recipe = recipe_with({{"views.name", "same"}, {"loss.name", "instance"}});
        for (const auto& [key, value] : more) set_recipe_value(recipe, key, value);
        return recipe_views_refusal([&] { check(recipe); });
    };
    EXPECT_THAT(refused({{"augment.mixup", "0.8"}}), HasSubstr("views.name"));
    EXPECT_THAT(refused({{"augment.cutmix", "1"}}), HasSubstr("views.name"));
    EXPECT_THAT(refused({{"distill.kind", "hard"}, {"distill.teacher", "regnety_160"}}),
                HasSubstr("views.name"));
    EXPECT_THAT(refused({{"loss.name", "bce"}, {"loss.cosub", "true"}}), HasSubstr("views.name"));
}

TEST(RecipeViews, TheSameViewsAreThoseOfAugment) {
    const Recipe recipe = recipe_with({{"views.name", "same"}, {"views.count", "3"}});
    const TrainSettings settings =
        train_settings(recipe, 24, 16, kRecipeViewsHalf, kRecipeViewsHalf);
    const ViewTransform views = view_transform(recipe, settings);
    ASSERT_EQ(views.groups, (std::vector<ViewTransform::Group>{{3, 24, 16}}));
    const Image image = test::picture(50, 37, 3);
    std::vector<std::vector<float>> seen;
    for (std::uint64_t view = 0; view < 3; ++view) {
        std::vector<float> found(3UL * 24 * 16), single(found.size());
        FloatTransform(views.write)(image, {1, 2, 3, 0, view}, found);
        TrainWorkspace workspace;
        TrainTransform(settings).apply(image, {1, 2, 3, 0, view}, workspace, single);
        EXPECT_EQ(found, single);
        EXPECT_EQ(std::ranges::find(seen, found), seen.end());
        seen.push_back(found);
    }
}

TEST(RecipeViews, LocalViewsAreAGroupOfTheirOwn) {
    Recipe recipe = recipe_with({{"views.name", "multi-crop"}});
    const TrainSettings settings =
        train_settings(recipe, 224, 224, kRecipeViewsHalf, kRecipeViewsHalf);
    EXPECT_EQ(view_transform(recipe, settings).groups,
              (std::vector<ViewTransform::Group>{{2, 224, 224}, {8, 96, 96}}));
    recipe.views.locals = 0;
    EXPECT_EQ(view_transform(recipe, settings).groups,
              (std::vector<ViewTransform::Group>{{2, 224, 224}}));
}

TEST(RecipeViews, AModelThatMixesPatchesSeesAllViewsAtItsSize) {
    Recipe recipe = recipe_with({{"views.name", "multi-crop"}, {"model.name", "resmlp_12_224"}});
    EXPECT_EQ(fit_views_to_model(recipe),
              "resmlp_12_224 mixes a fixed number of patches: all views are shown at 224x224");
    EXPECT_EQ(multi_crop_settings(recipe.views, {224, 224}, kRecipeViewsHalf, kRecipeViewsHalf)
                  .local_size,
              (ImageSize{224, 224}));
    EXPECT_EQ(fit_views_to_model(recipe), "");  // a run that goes on
    for (const char* name : {"deit_tiny_patch16_224", "cait_xxs24_224", "resnet50"}) {
        Recipe other = recipe_with({{"views.name", "multi-crop"}, {"model.name", name}});
        const ViewsPart before = other.views;
        EXPECT_EQ(fit_views_to_model(other), "") << name;
        EXPECT_EQ(other.views, before);
    }
}

}  // namespace
}  // namespace cait
