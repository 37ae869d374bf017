// What a user says about the preparation of images, in place of what a file says or a model
// assumes; and a preparation in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"
#include "image/normalise.h"

namespace cait {

// Mean and standard deviation of the colour channels under the name that people know them by.
struct NamedNormalisation {
    std::string name;
    ChannelValues mean, std;
};
const std::vector<NamedNormalisation>& named_normalisations();

// Fields that are not given leave the preparation as it is.
struct PreparationChange {
    std::string normalisation{};  // one of named_normalisations(); mean and std come after it
    std::optional<ChannelValues> mean{}, std{};
    std::optional<double> crop_ratio{};
    std::string crop_mode{}, interpolation{};

    bool operator==(const PreparationChange&) const = default;
    bool any() const { return *this != PreparationChange(); }
    // Whether mean and std are both given: what is left to assume is only how much is cut off.
    bool normalises() const { return !normalisation.empty() || (mean && std); }
    // Throws UsageError, naming the field, for a value that is none.
    Preprocessing applied_to(Preprocessing preprocessing) const;
};

// "crop ratio 0.875, centre, bicubic; mean 0.5, 0.5, 0.5; std 0.5, 0.5, 0.5"
std::string preparation_text(const Preprocessing& preprocessing);

}  // namespace cait
