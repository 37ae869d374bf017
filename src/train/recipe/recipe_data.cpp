#include "train/recipe/recipe_data.h"

namespace cait {

TrainSettings train_settings(const Recipe& recipe, std::int64_t height, std::int64_t width,
                             const ChannelValues& mean, const ChannelValues& std) {
    const AugmentPart& augment = recipe.augment;
    TrainSettings settings;
    settings.height = height;
    settings.width = width;
    settings.crop = augment.crop;
    settings.resized_crop = {augment.scale, augment.ratio};
    settings.filter = augment.filter;
    settings.shown.filter = augment.filter;
    settings.shown.mode = parse_crop_mode(recipe.eval.crop_mode);
    settings.shown.mean = mean;
    if (recipe.eval.crop_ratio > 0) settings.shown.crop_ratio = recipe.eval.crop_ratio;
    settings.flip = augment.flip;
    settings.policy = parse_policy(augment.policy);
    settings.jitter = ColourJitter::parse(augment.jitter);
    settings.force_jitter = augment.force_jitter;
    settings.mean = mean;
    settings.std = std;
    settings.erasing.probability = augment.erase;
    settings.erasing.mode = augment.erase_mode;
    settings.erasing.min_count = settings.erasing.max_count = int(augment.erase_count);
    settings.check();
    return settings;
}

Mixup mixup_settings(const Recipe& recipe) {
    Mixup mixup;
    mixup.mixup_alpha = recipe.augment.mixup;
    mixup.cutmix_alpha = recipe.augment.cutmix;
    mixup.probability = recipe.augment.mix_probability;
    mixup.switch_probability = recipe.augment.mix_switch;
    mixup.mode = recipe.augment.mix_mode;
    mixup.check();
    return mixup;
}

SoftLabels soft_labels(const Recipe& recipe, std::int64_t classes) {
    const SoftLabels soft{.classes = classes, .smoothing = recipe.loss.smoothing};
    soft.check();
    return soft;
}

}  // namespace cait
