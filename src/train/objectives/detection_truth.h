// What a batch says is in its images, as a detector's loss takes it: out of the tensors of
// data/targets/objects.h.
#pragma once

#include "train/torch/libtorch.h"

#include <cstdint>
#include <vector>

#include "base/image_size.h"
#include "image/masks/run_mask.h"
#include "models/regions.h"
#include "train/objectives/objective.h"

namespace cait {

// Crowds and boxes without area are left out, as in mmdetection.
struct DetectionTruth {
    std::vector<Region> boxes;
    std::vector<std::int64_t> labels;
    std::vector<RunMask> masks;  // of the network's images; empty where none are asked for
    ImageSize shown;             // the rest of the image is padding
};

// Of image `row`. `canvas`: of images as the loader makes them, which masks are of. Throws Error
// where the batch has no objects, no masks although `with_masks`, or a class from `classes` on.
DetectionTruth truth_of(const ObjectiveBatch& batch, std::int64_t row, ImageSize canvas,
                        std::int64_t classes, bool with_masks);

// How much of the images of a batch is shown at most. A batch that does not say shows all.
ImageSize largest_shown(const ObjectiveBatch& batch, ImageSize canvas);

// Of so many images with so many objects each: a network that is shown these needs as much memory
// as it ever will. Replaces what is there.
void put_made_objects(std::int64_t images, std::int64_t objects, ImageSize canvas,
                      TorchTensors& targets);

}  // namespace cait
