// timm's names for operations, how it turns a magnitude from 0 to 10 into an operation's number,
// and how it writes policies.
#pragma once

#include <string_view>
#include <vector>

#include "base/philox.h"
#include "data/augment/operation.h"

namespace cait {

// "increasing": severity grows with the magnitude, unlike in the kinds without that word.
enum class OperationKind {
    autocontrast,
    equalize,
    invert,
    rotate,
    posterize,
    posterize_increasing,
    posterize_original,
    solarize,
    solarize_increasing,
    solarize_add,
    colour,
    colour_increasing,
    contrast,
    contrast_increasing,
    brightness,
    brightness_increasing,
    sharpness,
    sharpness_increasing,
    shear_x,
    shear_y,
    translate_x_rel,
    translate_y_rel,
    desaturate,
    gaussian_blur,
};

// What policies call full magnitude.
inline constexpr double kFullMagnitude = 10;

// One operation of a policy: applied with a probability, at a magnitude that may be random itself.
struct PolicyStep {
    OperationKind kind = OperationKind::autocontrast;
    double probability = 0.5;
    double magnitude = kFullMagnitude;
    double magnitude_std = 0;               // 0: fixed; infinite: uniform in [0, magnitude]
    double magnitude_max = kFullMagnitude;  // drawn magnitudes are clipped to [0, this]

    bool operator==(const PolicyStep&) const = default;
};

// `random` gives the sign, where there is one.
OperationCall at_magnitude(OperationKind kind, double magnitude, RandomStream& random);

// The operation to apply, `identity` when the step is not taken.
OperationCall draw(const PolicyStep& step, RandomStream& random);

// Policies are written as a name and sections such as "mstd0.5", of a key and a number each, with
// dashes between them.
struct PolicySection {
    std::string_view key;
    std::string_view value;
    std::string_view whole;
};

// The sections after the first; the key ends where the first digit is.
std::vector<PolicySection> policy_sections(std::string_view text);

// Throw UsageError that names the policy and the section when the value is not such a number.
int whole_value(std::string_view policy, const PolicySection& section, int low, int high);
double real_value(std::string_view policy, const PolicySection& section, double low, double high);

}  // namespace cait
