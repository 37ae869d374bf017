// Images in training for detection: one of several sizes, perhaps a crop before that, flip,
// normalisation, padding at the right and at the bottom; after DETR's and mmdetection's code. A
// pure function of the sample and its key. Boxes and masks follow in data/targets/objects.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/augment/random_crop.h"
#include "data/augment/scaled_part.h"
#include "data/geometry.h"
#include "data/sampler.h"
#include "image/image.h"
#include "image/normalise.h"

namespace cait {

struct DetectionSettings {
    std::int64_t height = 800;  // of what the network sees: images are made to fit into it
    std::int64_t width = 1344;
    std::vector<std::int64_t> short_sides{480, 512, 544, 576, 608, 640, 672, 704, 736, 768, 800};
    std::int64_t long_side = 1333;  // that none exceeds
    double crop = 0.5;  // probability of a crop: resized to one of crop_from, cut, resized again
    std::vector<std::int64_t> crop_from{400, 500, 600};
    Interval crop_side{384, 600};    // of each side of the crop
    double flip = 0.5;               // probability
    double photometric = 0;          // probability that colours are changed as for segmentation
    std::optional<Filter> filter{};  // Pillow's, with antialiasing; none: OpenCV's bilinear
    ChannelValues mean = kImageNetMean;
    ChannelValues std = kImageNetStd;

    void check() const;  // throws UsageError that names the field
};

using DetectionWorkspace = ScaledPartWorkspace;

class DetectionTransform {
public:
    explicit DetectionTransform(const DetectionSettings& settings);  // throws UsageError

    const DetectionSettings& settings() const { return settings_; }

    // An image that is cut is resized once, to what resizing, cutting and resizing again makes.
    Geometry draw(const Extent& image, const SampleKey& key) const;

    // `out` is (3, height, width).
    Geometry apply(const Image& image, const SampleKey& key, DetectionWorkspace& workspace,
                   std::span<float> out) const;

private:
    DetectionSettings settings_;
    Normaliser normaliser_;
};

}  // namespace cait
