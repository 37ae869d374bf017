// Antialiased resizing that equals Pillow's: two passes over 8-bit pixels with fixed-point weights,
// first across and then down. (Pillow from version 13 on goes down first where the height shrinks
// much more than the width, which changes some values by a rounding; models were trained without.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "image/image.h"
#include "image/ops/resize_weights.h"
#include "image/view.h"

namespace cait {

// A source region in pixels, not necessarily whole ones. Pixels just outside it still take part in
// the filter, as with Pillow's `box`; to exclude them, resize a part of an ImageView instead.
struct Box {
    double left = 0;
    double top = 0;
    double right = 0;
    double bottom = 0;
};

// Memory that resizes share, so that none is allocated after the first ones.
struct ResizeWorkspace {
    ResizeWeights horizontal;
    ResizeWeights vertical;
    std::vector<std::uint8_t> rows;  // between the passes
};

// Which pixels of the resized image are wanted: all, or a rectangle of it. A part is computed
// without the rest, and equals a crop of the whole.
struct ResizeTarget {
    std::int64_t width = 0;  // of the whole
    std::int64_t height = 0;
    std::int64_t left = 0;
    std::int64_t top = 0;
    std::int64_t part_width = 0;
    std::int64_t part_height = 0;

    static ResizeTarget whole(std::int64_t width, std::int64_t height) {
        return {width, height, 0, 0, width, height};
    }
};

// With `mirror` the result is flipped from left to right. Throws Error when a size is not positive,
// the box is not inside the source or the part not inside the whole.
void resize(const ImageView& source, const Box& box, const ResizeTarget& target, Filter filter,
            bool mirror, Image& result, ResizeWorkspace& workspace);
void resize(const ImageView& source, const ResizeTarget& target, Filter filter, bool mirror,
            Image& result, ResizeWorkspace& workspace);

Image resize(const Image& source, std::int64_t width, std::int64_t height, Filter filter,
             std::optional<Box> box = std::nullopt);

}  // namespace cait
