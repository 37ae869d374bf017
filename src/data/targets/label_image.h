// Which class each pixel is of: the label image, resized, cut and mirrored as the image was.
#pragma once

#include "base/image_size.h"
#include "data/target.h"

namespace cait {

inline constexpr const char* kLabelImages = "label_images";  // [B, H, W] uint8

// kLabelImages of that size, with kIgnored where the image is padded. It needs a LabelledTransform,
// and images that are not mixed.
TargetPtr label_image_target(ImageSize size);

}  // namespace cait
