#include "models/regions.h"

#include <algorithm>
#include <cmath>

namespace cait {

namespace {

constexpr float kLargestLog = 4.135166556742356F;  // log(1000 / 16)
constexpr float kLevelMargin = 1e-6F;

constexpr std::array<float, kAnchorRatios> kRatios{0.5F, 1, 2};  // height / width

}  // namespace

RegionRules torchvision_region_rules() {
    RegionRules rules;
    rules.background_first = true;
    rules.aligned = false;
    rules.sampling = 2;
    rules.whole_pixel_anchors = true;
    rules.bounded_shrinking = false;
    rules.canonical_level = true;
    rules.least_proposal_side = 1e-3F;
    rules.least_answer_side = 1e-2F;
    rules.padded_masks = true;
    return rules;
}

AnchorGrid::AnchorGrid(std::size_t level, ImageSize map, ImageSize input, const RegionRules& rules)
    : down_(level_stride(level)), across_(level_stride(level)) {
    const float side = float(8 * level_stride(level));
    for (std::size_t i = 0; i < base_.size(); ++i) {
        const float tall = std::sqrt(kRatios[i]);
        const float x = side / tall / 2, y = side * tall / 2;
        base_[i] = {-x, -y, x, y};
        if (rules.whole_pixel_anchors) {  // to even where halfway, as PyTorch rounds
            const float whole_x = std::nearbyint(x), whole_y = std::nearbyint(y);
            base_[i] = {-whole_x, -whole_y, whole_x, whole_y};
        }
    }
    if (rules.whole_pixel_anchors) {
        down_ = input.height / std::max<std::int64_t>(1, map.height);
        across_ = input.width / std::max<std::int64_t>(1, map.width);
    }
}

std::vector<Region> anchors(std::size_t level, ImageSize map, ImageSize input,
                            const RegionRules& rules) {
    const AnchorGrid grid(level, map, input, rules);
    std::vector<Region> all;
    all.reserve(std::size_t(map.height * map.width * kAnchorRatios));
    for (std::int64_t y = 0; y < map.height; ++y)
        for (std::int64_t x = 0; x < map.width; ++x)
            for (std::int64_t ratio = 0; ratio < kAnchorRatios; ++ratio)
                all.push_back(grid.at(y, x, ratio));
    return all;
}

Region moved(const Region& from, const float* deltas, const std::array<float, 4>& std,
             const RegionRules& rules) {
    const float width = from.width(), height = from.height();
    const float x = from.left + 0.5F * width + deltas[0] * std[0] * width;
    const float y = from.top + 0.5F * height + deltas[1] * std[1] * height;
    const auto half = [&](float side, float log_scale) {
        log_scale = std::min(log_scale, kLargestLog);
        if (rules.bounded_shrinking) log_scale = std::max(log_scale, -kLargestLog);
        return 0.5F * (std::exp(log_scale) * side);
    };
    const float half_width = half(width, deltas[2] * std[2]);
    const float half_height = half(height, deltas[3] * std[3]);
    return {x - half_width, y - half_height, x + half_width, y + half_height};
}

std::array<float, 4> deltas_between(const Region& from, const Region& to,
                                    const std::array<float, 4>& std) {
    const float width = from.width(), height = from.height();
    const auto centre = [](float low, float high) { return low + 0.5F * (high - low); };
    return {(centre(to.left, to.right) - centre(from.left, from.right)) / width / std[0],
            (centre(to.top, to.bottom) - centre(from.top, from.bottom)) / height / std[1],
            std::log(to.width() / width) / std[2], std::log(to.height() / height) / std[3]};
}

Region clipped(const Region& region, ImageSize image) {
    const float width = float(image.width), height = float(image.height);
    return {std::clamp(region.left, 0.0F, width), std::clamp(region.top, 0.0F, height),
            std::clamp(region.right, 0.0F, width), std::clamp(region.bottom, 0.0F, height)};
}

float overlap(const Region& first, const Region& second) {
    const float width = std::min(first.right, second.right) - std::max(first.left, second.left);
    const float height = std::min(first.bottom, second.bottom) - std::max(first.top, second.top);
    if (!(width > 0 && height > 0)) return 0;
    const float shared = width * height;
    return shared / (first.area() + second.area() - shared);
}

std::size_t level_of(const Region& region, const RegionRules& rules) {
    const float side = std::sqrt(region.area());
    if (!std::isfinite(side) || side <= 0) return 0;
    const float level = rules.canonical_level
                            ? std::floor(4 + std::log2(side / 224) + kLevelMargin) - 2
                            : std::floor(std::log2(side / 56 + kLevelMargin));
    return std::size_t(std::clamp(level, 0.0F, float(kPooledLevels - 1)));
}

}  // namespace cait
