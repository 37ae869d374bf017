#include "train/recipe/recipe_data.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "train/recipe/recipe_file.h"

namespace cait {
namespace {

constexpr ChannelValues kRecipeDataHalf{0.5F, 0.5F, 0.5F};

TEST(RecipeData, DeitIsWhatTheReferenceDoesToAnImage) {
    const TrainSettings settings =
        train_settings(find_recipe("deit"), 224, 192, kImageNetMean, kImageNetStd);
    EXPECT_EQ(settings.height, 224);
    EXPECT_EQ(settings.width, 192);
    EXPECT_EQ(settings.crop, CropKind::random_resized);
    EXPECT_EQ(settings.resized_crop, RandomResizedCrop{});
    EXPECT_EQ(settings.filter, Filter::bicubic);
    EXPECT_EQ(settings.flip, 0.5);
    EXPECT_EQ(settings.policy, parse_policy("rand-m9-mstd0.5-inc1"));
    EXPECT_FALSE(settings.force_jitter);
    EXPECT_EQ(settings.erasing, RandomErasing{.probability = 0.25});
    EXPECT_EQ(settings.mean, kImageNetMean);
}

TEST(RecipeData, EveryFieldArrives) {
    Recipe recipe;
    recipe.augment = {.crop = CropKind::simple,
                      .scale = {0.25, 0.5},
                      .ratio = {0.5, 2},
                      .filter = Filter::bilinear,
                      .flip = 0.25,
                      .policy = "three",
                      .jitter = "0.1,0.2,0.3,0.4",
                      .force_jitter = true,
                      .erase = 0.5,
                      .erase_mode = EraseMode::constant,
                      .erase_count = 3};
    const TrainSettings settings = train_settings(recipe, 8, 16, kRecipeDataHalf, kRecipeDataHalf);
    EXPECT_EQ(settings.crop, CropKind::simple);
    EXPECT_EQ(settings.resized_crop, (RandomResizedCrop{{0.25, 0.5}, {0.5, 2}}));
    EXPECT_EQ(settings.filter, Filter::bilinear);
    EXPECT_EQ(settings.flip, 0.25);
    EXPECT_EQ(settings.policy, parse_policy("three"));
    EXPECT_EQ(settings.jitter, (ColourJitter{0.1, 0.2, 0.3, 0.4}));
    EXPECT_TRUE(settings.force_jitter);
    EXPECT_EQ(settings.erasing.probability, 0.5);
    EXPECT_EQ(settings.erasing.mode, EraseMode::constant);
    EXPECT_EQ(settings.erasing.min_count, 3);
    EXPECT_EQ(settings.erasing.max_count, 3);
    EXPECT_EQ(settings.mean, kRecipeDataHalf);
    EXPECT_EQ(settings.std, kRecipeDataHalf);
    recipe.augment.flip = 2;
    EXPECT_THROW(train_settings(recipe, 8, 16, kRecipeDataHalf, kRecipeDataHalf), UsageError);
}

TEST(RecipeData, MixingIsThatOfTheRecipe) {
    EXPECT_EQ(mixup_settings(find_recipe("deit")), Mixup{});
    EXPECT_FALSE(mixup_settings(find_recipe("vit")).active());
    Recipe recipe;
    recipe.augment.mixup = 0.25;
    recipe.augment.cutmix = 0.5;
    recipe.augment.mix_probability = 0.75;
    recipe.augment.mix_switch = 0.125;
    recipe.augment.mix_mode = MixMode::pair;
    recipe.loss.smoothing = 0.0625;
    EXPECT_EQ(mixup_settings(recipe), (Mixup{.mixup_alpha = 0.25,
                                             .cutmix_alpha = 0.5,
                                             .probability = 0.75,
                                             .switch_probability = 0.125,
                                             .mode = MixMode::pair}));
    EXPECT_EQ(soft_labels(recipe, 10), (SoftLabels{.classes = 10, .smoothing = 0.0625}));
    EXPECT_EQ(soft_labels(find_recipe("deit"), 1000), SoftLabels{});
    EXPECT_THROW(soft_labels(recipe, 0), UsageError);
}

}  // namespace
}  // namespace cait
