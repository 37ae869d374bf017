#include "train/recipe/recipe_data.h"

#include <algorithm>

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

SegmentationSettings segmentation_settings(const Recipe& recipe, ImageSize size,
                                           const ChannelValues& mean, const ChannelValues& std) {
    const AugmentPart& augment = recipe.augment;
    SegmentationSettings settings;
    settings.height = size.height;
    settings.width = size.width;
    settings.short_side =
        augment.short_side > 0 ? augment.short_side : std::min(size.height, size.width);
    settings.long_side = augment.long_side > 0 ? augment.long_side : 4 * settings.short_side;
    settings.ratio = augment.resize_ratio;
    if (augment.resize == ResizeStyle::pillow) settings.filter = augment.filter;
    settings.largest_class = augment.largest_class;
    settings.flip = augment.flip;
    settings.photometric = augment.photometric;
    settings.mean = mean;
    settings.std = std;
    settings.check();
    return settings;
}

// mmdetection's sides are those of images of 800 pixels; others have the same shares of theirs.
DetectionSettings detection_settings(const Recipe& recipe, ImageSize size,
                                     const ChannelValues& mean, const ChannelValues& std) {
    const AugmentPart& augment = recipe.augment;
    const std::int64_t short_side = augment.short_side > 0 ? augment.short_side
                                    : augment.short_sides.empty()
                                        ? std::min(size.height, size.width)
                                        : augment.short_sides.back();
    constexpr std::int64_t kUsual = 800;
    const auto scaled = [short_side](std::int64_t side) {
        return std::max<std::int64_t>(1, side * short_side / kUsual);
    };
    DetectionSettings settings;
    settings.height = size.height;
    settings.width = size.width;
    for (std::int64_t& side : settings.short_sides) side = scaled(side);
    for (std::int64_t& side : settings.crop_from) side = scaled(side);
    settings.crop_side = {double(scaled(384)), double(scaled(600))};
    if (!augment.short_sides.empty()) settings.short_sides = augment.short_sides;
    settings.long_side =
        augment.long_side > 0 ? augment.long_side : std::max(size.height, size.width);
    settings.crop = augment.crop_first;
    settings.flip = augment.flip;
    settings.photometric = augment.photometric ? 1 : 0;
    if (augment.resize == ResizeStyle::pillow) settings.filter = augment.filter;
    settings.mean = mean;
    settings.std = std;
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
