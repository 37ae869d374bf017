// What is where in an image: boxes, classes and masks, moved as the image was.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/image_size.h"
#include "data/target.h"
#include "image/masks/run_mask.h"

namespace cait {

// [B, M, 6] float32, M the most of any image of the batch, at least 1: left, top, right, bottom in
// pixels of what the network sees, label, 1 for a crowd. Rows that stand for nothing have label -1.
inline constexpr const char* kObjects = "objects";
// [B, R] int32: for each object of kObjects in turn the number of its runs and then these, of a
// mask of the loader's height and width; what is left is -1.
inline constexpr const char* kObjectMasks = "object_masks";
// [B, 2] int64: height and width of what is shown, from the upper left corner; the rest is padding.
inline constexpr const char* kShownSizes = "shown_sizes";

// At most `most` objects of an image, drawn by its key where there are more. Needs a transform
// whose Geometry::scaled is set. Boxes narrower or lower than a pixel are left out, and so are
// those of which cropping leaves nothing.
TargetPtr objects_target(ImageSize size, bool masks, std::size_t most = 200);

// The masks of one row of kObjectMasks, as many as there are objects in the row.
std::vector<RunMask> masks_of_row(std::span<const std::int32_t> row, ImageSize size,
                                  std::size_t objects);

}  // namespace cait
