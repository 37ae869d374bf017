// What a model is shown when it is evaluated: resize and centre crop, as timm and torchvision do
// it. Preparer then normalises the pixels.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/image.h"
#include "image/normalise.h"
#include "image/ops/resize.h"

namespace cait {

enum class CropMode {
    centre,  // the shorter side becomes size / crop_ratio, the aspect ratio is kept
    squash,  // both sides become size / crop_ratio
    border,  // the longer side does, and the rest is filled with the mean colour
};

std::string_view crop_mode_name(CropMode mode);
CropMode parse_crop_mode(std::string_view name);  // throws UsageError

struct EvaluationWorkspace {
    ResizeWorkspace resize;
    Image resized;
    Image cropped;
};

// Beyond these nothing of an image is left to be seen.
inline constexpr double kLeastCropRatio = 0.01;
inline constexpr double kMostCropRatio = 100;
// Of a channel; pixels are 0 to 1.
inline constexpr double kMostMean = 1e3;
inline constexpr double kLeastStd = 1e-6;
inline constexpr double kMostStd = 1e3;

struct EvaluationTransform {
    std::int64_t height = 224;
    std::int64_t width = 224;
    double crop_ratio = 0.875;  // above 1 the image is resized below the crop and padded with black
    Filter filter = Filter::bicubic;
    CropMode mode = CropMode::centre;
    ChannelValues mean = kImageNetMean;
    ChannelValues std = kImageNetStd;

    // Throws UsageError that names the field when one is out of its range.
    void check() const;

    // The 8-bit pixels that are then normalised.
    void crop(const Image& image, EvaluationWorkspace& workspace, Image& result) const;

    // The part of the image that crop() shows, in the image's pixels. It reaches beyond the image
    // where crop() pads.
    Box seen(const Image& image) const { return seen(image.width, image.height); }
    Box seen(std::int64_t image_width, std::int64_t image_height) const;
};

// floor(size / ratio): the side before the crop.
std::int64_t side_before_crop(std::int64_t size, double crop_ratio);

struct Extent {
    std::int64_t width;
    std::int64_t height;
};

// The size at which the shorter side has `side` pixels, as torchvision rounds it.
Extent with_shorter_side(std::int64_t width, std::int64_t height, std::int64_t side);

}  // namespace cait
