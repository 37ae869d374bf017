// Views of one image for learning without labels, after DINO (Caron et al. 2021): a few large
// crops and some small ones, each flipped, coloured, greyed, blurred and solarised by chances of
// its own. A pure function of the image and of the sample's key, whose `view` says which one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/image_size.h"
#include "data/augment/colour_jitter.h"
#include "data/augment/random_crop.h"
#include "data/geometry.h"
#include "data/sampler.h"
#include "image/image.h"
#include "image/normalise.h"
#include "image/ops/blur.h"
#include "image/ops/resize.h"

namespace cait {

// One number for the first global view, the other global ones, and the local ones.
using PerView = std::array<double, 3>;

struct MultiCropSettings {
    std::int64_t globals = 2;
    std::int64_t locals = 8;
    ImageSize global_size{224, 224};
    ImageSize local_size{96, 96};
    Interval global_scale{0.4, 1.0};  // share of the image's area
    Interval local_scale{0.05, 0.4};
    Filter filter = Filter::bicubic;
    double flip = 0.5;  // this and those below are probabilities, but for the radius
    ColourJitter jitter{0.4, 0.4, 0.2, 0.1};
    double jitter_probability = 0.8;
    double grey = 0.2;
    PerView blur{1.0, 0.1, 0.5};
    Interval radius{0.1, 2.0};  // of the blur, in pixels
    PerView solarize{0.0, 0.2, 0.0};
    ChannelValues mean = kImageNetMean;
    ChannelValues std = kImageNetStd;

    void check() const;  // throws UsageError that names the field
};

// What happens to one view, in the order of the fields.
struct ViewDraw {
    Rectangle part;
    bool mirrored = false;
    std::optional<ColourJitter::Draw> jitter;
    bool grey = false;
    std::optional<double> radius;  // blurred by
    bool solarized = false;
};

// Memory that one thread's views share.
struct MultiCropWorkspace {
    Image image;
    ResizeWorkspace resize;
    BlurWorkspace blur;
};

class MultiCrop {
public:
    static constexpr double kThreshold = 128;  // from which values are inverted

    explicit MultiCrop(const MultiCropSettings& settings);  // throws UsageError

    const MultiCropSettings& settings() const { return settings_; }
    ImageSize size(std::uint64_t view) const;

    // Of an image of that size.
    ViewDraw draw(std::int64_t width, std::int64_t height, const SampleKey& key) const;

    // The 8-bit image before it is normalised; it lies in the workspace.
    const Image& augment(const Image& image, const ViewDraw& drawn, ImageSize size,
                         MultiCropWorkspace& workspace) const;

    // `out` is (3, height, width) of the view's size.
    Geometry apply(const Image& image, const SampleKey& key, MultiCropWorkspace& workspace,
                   std::span<float> out) const;

private:
    bool is_local(std::uint64_t view) const;

    MultiCropSettings settings_;
    Normaliser normaliser_;
};

}  // namespace cait
