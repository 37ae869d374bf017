// The arithmetic of boxes that training and prediction share: anchors, the deltas that move them,
// the level of the pyramid that a region belongs to. Boxes are left, top, right, bottom in pixels
// of what the network sees; everything is float32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/image_size.h"

namespace cait {

struct Region {
    float left = 0;
    float top = 0;
    float right = 0;
    float bottom = 0;

    float width() const { return right - left; }
    float height() const { return bottom - top; }
    float area() const { return width() * height(); }
    bool operator==(const Region&) const = default;
};

// What mmdetection, which these are the rules of unless changed, and torchvision do differently.
struct RegionRules {
    bool background_first = false;  // torchvision: class 0 is the background; mmdetection: the last
    bool aligned = true;            // RoIAlign moves regions by half a place
    std::int64_t sampling = 0;      // of RoIAlign per bin and axis; 0: as many as a bin covers
    bool whole_pixel_anchors = false;  // torchvision rounds base anchors and strides
    bool bounded_shrinking = true;     // mmdetection: sides shrink at most to 16/1000
    bool canonical_level = false;  // torchvision counts levels from a side of 224, see level_of()
    std::array<float, 4> box_std{0.1F, 0.1F, 0.2F, 0.2F};  // by which the second stage's deltas go
    float least_proposal_side = 0;  // narrower or lower proposals are left out; torchvision: 1e-3
    float least_answer_side = 0;    // and answers of the second stage; torchvision: 1e-2
    bool mask_of_class = true;      // masks have a channel for each class
    bool padded_masks = false;      // torchvision pastes masks into whole pixels, see pasted_mask()
    bool operator==(const RegionRules&) const = default;
};

RegionRules torchvision_region_rules();

inline constexpr std::int64_t kAnchorRatios = 3;  // 0.5, 1, 2
inline constexpr std::size_t kPyramidLevels = 5;  // strides 4 to 64; the last is for anchors alone
inline constexpr std::size_t kPooledLevels = 4;

inline std::int64_t level_stride(std::size_t level) { return std::int64_t{4} << level; }

// The anchors of one level's map: sides of 8 strides, of area alike. With whole_pixel_anchors the
// strides are those that fit the map into `input`, the size of the padded images, rounded down: the
// last level of 800 pixels has 13 places, 61 pixels apart.
class AnchorGrid {
public:
    AnchorGrid(std::size_t level, ImageSize map, ImageSize input, const RegionRules& rules);

    Region at(std::int64_t row, std::int64_t column, std::int64_t ratio) const {
        const Region& base = base_[std::size_t(ratio)];
        const float x = float(column * across_), y = float(row * down_);
        return {x + base.left, y + base.top, x + base.right, y + base.bottom};
    }

private:
    std::int64_t down_, across_;  // strides
    std::array<Region, std::size_t(kAnchorRatios)> base_{};
};

// All of them, (height, width, ratios).
std::vector<Region> anchors(std::size_t level, ImageSize map, ImageSize input,
                            const RegionRules& rules);

// Where deltas (x, y, log width, log height, times `std`) move a region to. Logarithms above
// log(1000/16) count as that, and with bounded_shrinking those below its negative.
Region moved(const Region& from, const float* deltas, const std::array<float, 4>& std,
             const RegionRules& rules);
// The deltas, divided by `std`, that move `from` to `to`.
std::array<float, 4> deltas_between(const Region& from, const Region& to,
                                    const std::array<float, 4>& std);
Region clipped(const Region& region, ImageSize image);
float overlap(const Region& first, const Region& second);  // intersection over union

// 0 to kPooledLevels - 1: floor(log2(side / 56 + 1e-6)), the side being the root of the area. With
// canonical_level: floor(4 + log2(side / 224) + 1e-6) - 2, which differs within some 1e-6 of a
// power of two. A region without area or with a side that is not finite is of the first level.
std::size_t level_of(const Region& region, const RegionRules& rules);

}  // namespace cait
