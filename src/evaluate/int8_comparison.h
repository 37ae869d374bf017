// A model in int8 beside itself in float32, on a data set: the images that show `quantize` what
// layers see, and what the answers lose.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "cait/model.h"
#include "data/dataset.h"

namespace cait {

// Up to `count` images from all over the data set, prepared for the model: [B, C, H, W]. The first
// unreadable one is an Error, or, with skip_bad, is left out; an Error where none is left.
Tensor calibration_images(const Model& model, const DatasetPtr& dataset, std::size_t count,
                          bool skip_bad);

struct Int8Comparison {
    std::size_t images = 0;
    std::string score;  // the measure's first: top1, or map of several classes per image
    double before = 0, after = 0;
    double agreement = 0;  // share of images with the same strongest class
};

struct ComparisonOptions {
    std::size_t batch = 32;
    bool skip_bad = false;
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

// `before` in float32, `after` in int8; labels of `dataset` are their classes (match_classes).
Int8Comparison compare_int8(const Model& before, const Model& after, const DatasetPtr& dataset,
                            const ComparisonOptions& options);

}  // namespace cait
