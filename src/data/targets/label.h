// Which class an image is of: a number, and where images are mixed a row of probabilities.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "data/target.h"

namespace cait {

inline constexpr const char* kLabels = "labels";         // [B] int64
inline constexpr const char* kLabelRows = "label_rows";  // [B, classes] float32: stand for labels

// Labels as probabilities: 1 - smoothing on the label and smoothing spread over all classes.
struct SoftLabels {
    std::int64_t classes = 1000;
    double smoothing = 0.1;

    void check() const;  // throws UsageError that names the field
    bool operator==(const SoftLabels&) const = default;
};

// kLabels; with `soft` kLabelRows, too, mixed as the images are.
TargetPtr label_target(std::optional<SoftLabels> soft = {});

inline std::span<const std::int64_t> labels_of(const Targets& targets) {
    return targets.at(kLabels).integers();
}

// [B, classes], mixed by the shares of the draws; without draws, the plain rows. Throws Error that
// names a label outside the classes.
void mix_labels(const SoftLabels& soft, std::span<const MixDraw> draws,
                std::span<const std::int64_t> labels, std::span<float> rows);

}  // namespace cait
