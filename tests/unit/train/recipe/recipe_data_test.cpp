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

TEST(RecipeData, ADetectorSeesTheSizesOfMmdetection) {
    const ImageSize canvas{800, 1344};
    const DetectionSettings settings =
        detection_settings(find_recipe("mask-rcnn"), canvas, kImageNetMean, kImageNetStd);
    const DetectionSettings theirs;
    EXPECT_EQ(settings.height, 800);
    EXPECT_EQ(settings.width, 1344);
    EXPECT_EQ(settings.short_sides, theirs.short_sides);
    EXPECT_EQ(settings.short_sides.front(), 480);
    EXPECT_EQ(settings.long_side, 1333);
    EXPECT_EQ(settings.crop, 0.5);
    EXPECT_EQ(settings.crop_from, theirs.crop_from);
    EXPECT_EQ(settings.crop_side, theirs.crop_side);
    EXPECT_EQ(settings.flip, 0.5);
    EXPECT_EQ(settings.photometric, 0);
    EXPECT_FALSE(settings.filter.has_value());
    EXPECT_EQ(settings.mean, kImageNetMean);
}

TEST(RecipeData, OtherSizesOfADetectorHaveTheSameShares) {
    Recipe recipe = find_recipe("detect");
    const DetectionSettings small =
        detection_settings(recipe, {400, 672}, kRecipeDataHalf, kRecipeDataHalf);
    EXPECT_EQ(small.short_sides.front(), 240);
    EXPECT_EQ(small.short_sides.back(), 400);
    EXPECT_EQ(small.long_side, 672);
    EXPECT_EQ(small.crop_from, (std::vector<std::int64_t>{200, 250, 300}));
    EXPECT_EQ(small.crop_side, (Interval{192, 300}));
    EXPECT_EQ(small.photometric, 1);
    EXPECT_EQ(small.std, kRecipeDataHalf);
    recipe.augment.short_sides = {100, 160};
    recipe.augment.long_side = 200;
    recipe.augment.resize = ResizeStyle::pillow;
    const DetectionSettings named =
        detection_settings(recipe, {400, 672}, kRecipeDataHalf, kRecipeDataHalf);
    EXPECT_EQ(named.short_sides, recipe.augment.short_sides);
    EXPECT_EQ(named.long_side, 200);
    EXPECT_EQ(named.crop_from, (std::vector<std::int64_t>{80, 100, 120}));
    EXPECT_EQ(named.filter, recipe.augment.filter);
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
