// One image's way from the file to the batch in training: crop, flip, policy, colour jitter,
// normalise, erase. A pure function of the image and the sample's key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/augment/colour_jitter.h"
#include "data/augment/policy.h"
#include "data/augment/random_crop.h"
#include "data/augment/random_erasing.h"
#include "data/sample_key.h"
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
    Image resized;
    ResizeWorkspace resize;
    EvaluationWorkspace evaluation;
    OperationWorkspace operation;
    RandomErasing::Workspace erasing;
};

// What an image that training shows has to do with the image as it is stored, for labels that
// belong to places of it.
struct TrainView {
    Box part;  // that is shown, in shares of width and height; a little outside where there is
               // padding
    bool mirrored = false;
    // For each place of a grid over what is shown, row by row: the place that a rotation, shear or
    // translation has brought there, -1 for none.
    std::vector<std::int64_t> sources;
};

class TrainTransform {
public:
    static constexpr std::int64_t kPadding = 4;

    explicit TrainTransform(const TrainSettings& settings);  // throws UsageError

    const TrainSettings& settings() const { return settings_; }

    // `out` is (3, height, width).
    void apply(const Image& image, const SampleKey& key, TrainWorkspace& workspace,
               std::span<float> out) const;

    // Of what apply() makes of an image of that size; `rows` and `columns` are those of the grid.
    TrainView view(std::int64_t width, std::int64_t height, const SampleKey& key, std::int64_t rows,
                   std::int64_t columns) const;

    // The 8-bit image before it is normalised and erased; it lies in the workspace.
    const Image& augment(const Image& image, const SampleKey& key, TrainWorkspace& workspace) const;

private:
    void crop(const Image& image, const SampleKey& key, TrainWorkspace& workspace) const;
    Box part_of(std::int64_t width, std::int64_t height, const SampleKey& key) const;

    TrainSettings settings_;
    OperationStyle style_;
    Normaliser normaliser_;
    bool jitters_;
};

}  // namespace cait
