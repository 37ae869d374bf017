// Image and label image in training, by one geometry: scale jitter, a crop that is not all of one
// class, flip, changes of colour, padding; after mmsegmentation. A pure function of the sample and
// its key. The labels follow in data/targets/label_image.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/augment/random_crop.h"
#include "data/augment/scaled_part.h"
#include "data/geometry.h"
#include "data/label_image.h"
#include "data/sampler.h"
#include "image/image.h"
#include "image/normalise.h"

namespace cait {

struct SegmentationSettings {
    std::int64_t height = 512;  // of the crop
    std::int64_t width = 512;
    // An image is made as large as fits these two, times the ratio, at its own aspect.
    std::int64_t long_side = 2048;
    std::int64_t short_side = 512;
    Interval ratio{0.5, 2.0};
    std::optional<Filter> filter{};  // Pillow's, with antialiasing; none: OpenCV's bilinear
    // Another crop is drawn, up to ten times, while the largest class has this share of the
    // labelled pixels or more; 1: the first one is taken.
    double largest_class = 0.75;
    double flip = 0.5;  // probability
    bool photometric = true;
    ChannelValues mean = kImageNetMean;
    ChannelValues std = kImageNetStd;

    void check() const;  // throws UsageError that names the field
};

// Memory that one thread's transforms share; after the first images none is allocated.
struct SegmentationWorkspace : ScaledPartWorkspace {
    std::vector<std::int32_t> across, down;
};

class SegmentationTransform {
public:
    static constexpr int kMostTries = 10;

    explicit SegmentationTransform(const SegmentationSettings& settings);  // throws UsageError

    const SegmentationSettings& settings() const { return settings_; }

    Geometry draw(const Extent& image, const LabelImage& labels, const SampleKey& key,
                  SegmentationWorkspace& workspace) const;

    // The 8-bit image before it is normalised and padded; it lies in the workspace.
    const Image& augment(const Image& image, const Geometry& geometry, const SampleKey& key,
                         SegmentationWorkspace& workspace) const;

    // `out` is (3, height, width).
    Geometry apply(const Image& image, const LabelImage& labels, const SampleKey& key,
                   SegmentationWorkspace& workspace, std::span<float> out) const;

private:
    bool is_varied(const LabelImage& labels, const ScaledPart& part,
                   SegmentationWorkspace& workspace) const;

    SegmentationSettings settings_;
    Normaliser normaliser_;
};

}  // namespace cait
