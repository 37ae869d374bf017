#include "image/preparation_change.h"

#include <fmt/format.h>

#include <algorithm>

#include "image/preparer.h"

namespace cait {

const std::vector<NamedNormalisation>& named_normalisations() {
    static const std::vector<NamedNormalisation> all = {
        {"imagenet", kImageNetMean, kImageNetStd},
        {"inception", {0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}},
        {"clip", {0.48145466F, 0.4578275F, 0.40821073F}, {0.26862954F, 0.26130258F, 0.27577711F}},
        {"none", {0, 0, 0}, {1, 1, 1}},
    };
    return all;
}

Preprocessing PreparationChange::applied_to(Preprocessing preprocessing) const {
    if (!normalisation.empty()) {
        const auto found =
            std::ranges::find(named_normalisations(), normalisation, &NamedNormalisation::name);
        if (found == named_normalisations().end())
            throw UsageError(fmt::format("preparation: unknown name '{}'", normalisation));
        preprocessing.mean = found->mean;
        preprocessing.std = found->std;
    }
    preprocessing.mean = mean.value_or(preprocessing.mean);
    preprocessing.std = std.value_or(preprocessing.std);
    preprocessing.crop_ratio = crop_ratio.value_or(preprocessing.crop_ratio);
    if (!crop_mode.empty()) preprocessing.crop_mode = crop_mode;
    if (!interpolation.empty()) preprocessing.interpolation = interpolation;
    evaluation_transform(preprocessing, {1, 1});  // throws
    return preprocessing;
}

std::string preparation_text(const Preprocessing& p) {
    return fmt::format("crop ratio {}, {}, {}; mean {}, {}, {}; std {}, {}, {}", p.crop_ratio,
                       p.crop_mode, p.interpolation, p.mean[0], p.mean[1], p.mean[2], p.std[0],
                       p.std[1], p.std[2]);
}

}  // namespace cait
