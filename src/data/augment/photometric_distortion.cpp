#include "data/augment/photometric_distortion.h"

#include "data/augment/random_crop.h"
#include "data/random.h"
#include "image/ops/photometric.h"

namespace cait {

namespace {

constexpr double kChance = 0.5;  // of each step
constexpr double kBrightness = 32;
constexpr Interval kFactors{0.5, 1.5};
constexpr int kHue = 18;  // of 180

}  // namespace

void distort_colours(Image& image, const SampleKey& key) {
    RandomStream random = key.stream(std::uint64_t(AugmentStream::jitter));
    const auto change_contrast = [&] {
        if (chance(random, kChance))
            scale_values(image, uniform(random, kFactors.low, kFactors.high), 0);
    };
    if (chance(random, kChance)) scale_values(image, 1, uniform(random, -kBrightness, kBrightness));
    const bool contrast_first = chance(random, kChance);
    if (contrast_first) change_contrast();
    if (chance(random, kChance))
        scale_saturation(image, uniform(random, kFactors.low, kFactors.high));
    if (chance(random, kChance)) turn_hue(image, int(choose(random, 2 * kHue)) - kHue);
    if (!contrast_first) change_contrast();
}

}  // namespace cait
