// One image's way from the file to the batch in training: crop, flip, policy, colour jitter,
// normalise, erase. A pure function of the image and the sample's key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "data/augment/colour_jitter.h"
#include "data/augment/policy.h"
#include "data/augment/random_crop.h"
#include "data/augment/random_erasing.h"
#include "data/geometry.h"
#include "data/sampler.h"
#include "image/evaluation_transform.h"
#include "image/image.h"
#include "image/normalise.h"
#include "image/ops/resize.h"

namespace cait {

enum class CropKind {
    random_resized,  // rrc
    simple,      // src: shorter side to the size, then a random crop with 4 mirrored pixels around
    padded,      // pad: the same with 4 black pixels around
    squash,      // resized to the size, whatever its shape
    evaluation,  // eval: what evaluation shows, as FixRes fine-tunes (Touvron et al. 2019)
};

std::string_view crop_kind_name(CropKind kind);

struct TrainSettings {
    std::int64_t height = 224;
    std::int64_t width = 224;
    CropKind crop = CropKind::random_resized;
    RandomResizedCrop resized_crop{};
    EvaluationTransform shown{};  // CropKind::evaluation: this, of the size above
    Filter filter = Filter::bicubic;
    double flip = 0.5;  // probability
    Policy policy{};
    std::optional<Interpolation> policy_interpolation = Interpolation::bicubic;
    ColourJitter jitter{};
    bool force_jitter = false;  // also beside a policy that replaces it
    ChannelValues mean = kImageNetMean;
    ChannelValues std = kImageNetStd;
    RandomErasing erasing{};

    void check() const;  // throws UsageError that names the field
};

// Memory that one thread's transforms share; after the first images none is allocated.
struct TrainWorkspace {
    Image image;
    Geometry geometry;  // of the last image
    Image resized;
    ResizeWorkspace resize;
    EvaluationWorkspace evaluation;
    OperationWorkspace operation;
    RandomErasing::Workspace erasing;
};

class TrainTransform {
public:
    static constexpr std::int64_t kPadding = 4;

    explicit TrainTransform(const TrainSettings& settings);  // throws UsageError

    const TrainSettings& settings() const { return settings_; }

    // `out` is (3, height, width). The geometry lies in the workspace.
    const Geometry& apply(const Image& image, const SampleKey& key, TrainWorkspace& workspace,
                          std::span<float> out) const;

    // The 8-bit image before it is normalised and erased; it lies in the workspace, too.
    const Image& augment(const Image& image, const SampleKey& key, TrainWorkspace& workspace) const;

private:
    Geometry crop(const Image& image, const SampleKey& key, TrainWorkspace& workspace) const;
    Box crop_with_padding(const Image& image, RandomStream& random,
                          TrainWorkspace& workspace) const;

    TrainSettings settings_;
    OperationStyle style_;
    Normaliser normaliser_;
    bool jitters_;
};

}  // namespace cait
