// Mixup (Zhang et al. 2017) and CutMix (Yun et al. 2019) of a batch with its own reverse, after
// timm. What mixing makes of a target is the target's own (data/target.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/philox.h"
#include "data/augment/random_crop.h"

namespace cait {

enum class MixMode {
    batch,    // one draw for the whole batch
    pair,     // one per image and its partner
    element,  // one per image
};

std::string_view mix_mode_name(MixMode mode);  // timm's: batch, pair, elem

struct Mixup {
    double mixup_alpha = 0.8;  // share ~ Beta(alpha, alpha); 0: off
    double cutmix_alpha = 1.0;
    std::optional<Interval> cutmix_range{};  // sides of the box as shares, instead of by alpha
    double probability = 1;                  // of mixing at all, per draw
    double switch_probability = 0.5;         // of CutMix where both are on
    MixMode mode = MixMode::batch;
    bool correct_share = true;  // from the box as it was clipped by the border

    void check() const;  // throws UsageError that names the field
    bool active() const { return mixup_alpha > 0 || cutmix_alpha > 0 || cutmix_range.has_value(); }
    bool operator==(const Mixup&) const = default;
};

// What happens to one image: image * share + partner * (1 - share), or the box is the partner's.
struct MixDraw {
    double share = 1;  // that the image has of its own target
    bool cut = false;
    Rectangle box{};
    bool operator==(const MixDraw&) const = default;
};

// One entry per image of the batch; image i is mixed with image size - 1 - i. Throws UsageError for
// an odd size.
std::vector<MixDraw> draw_mix(const Mixup& mixup, std::int64_t size, std::int64_t height,
                              std::int64_t width, RandomStream& random);

// In place on (size, channels, height, width).
void apply_mix(std::span<const MixDraw> draws, std::int64_t channels, std::int64_t height,
               std::int64_t width, std::span<float> images);

// Beta(alpha, alpha).
double draw_beta(double alpha, RandomStream& random);

}  // namespace cait
