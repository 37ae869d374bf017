// From a recipe to what the data pipeline takes.
#pragma once

#include <cstdint>
#include <string>

#include "base/image_size.h"
#include "data/augment/detection_transform.h"
#include "data/augment/mixup.h"
#include "data/augment/multi_crop.h"
#include "data/augment/segmentation_transform.h"
#include "data/augment/train_transform.h"
#include "data/batch.h"
#include "data/targets/label.h"
#include "train/recipe/recipe.h"

namespace cait {

// What happens to one image. Crop "eval" is the recipe's own: whoever knows the model's has to set
// it (TrainSettings::shown). Throws UsageError that names the field when one is out of range.
TrainSettings train_settings(const Recipe& recipe, std::int64_t height, std::int64_t width,
                             const ChannelValues& mean, const ChannelValues& std);

// What happens to an image and its label image; the model takes images of `size`.
SegmentationSettings segmentation_settings(const Recipe& recipe, ImageSize size,
                                           const ChannelValues& mean, const ChannelValues& std);

// What happens to an image whose boxes are found; the model takes images of `size`.
DetectionSettings detection_settings(const Recipe& recipe, ImageSize size,
                                     const ChannelValues& mean, const ChannelValues& std);

// [views] for a model that takes images of `size`, multi-crop. Throws UsageError as above.
MultiCropSettings multi_crop_settings(const ViewsPart& views, ImageSize size,
                                      const ChannelValues& mean, const ChannelValues& std);

// The views of an image that `settings` augments, in the groups that go through the network
// together; multi-crop: the global ones, then the local ones if there are any. [views] is not none.
ViewTransform view_transform(const Recipe& recipe, const TrainSettings& settings);

// A model that mixes a fixed number of patches takes one size alone: views of other sizes are then
// shown at the model's. Returns a line for people, empty where nothing had to change.
std::string fit_views_to_model(Recipe& recipe);

// What happens to a batch, and to its labels. Throw UsageError as above.
Mixup mixup_settings(const Recipe& recipe);
SoftLabels soft_labels(const Recipe& recipe, std::int64_t classes);

}  // namespace cait
