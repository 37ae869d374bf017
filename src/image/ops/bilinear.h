// Resizing as OpenCV's resize() does it: bilinear without antialiasing, in fixed point, equal to
// the last bit; and where its nearest neighbours lie. What mmsegmentation trains with.
#pragma once

#include <cstdint>
#include <vector>

#include "image/image.h"
#include "image/ops/resize.h"
#include "image/view.h"

namespace cait {

// Memory that resizes share, so that none is allocated after the first ones.
struct BilinearWorkspace {
    struct Place {
        std::int32_t first = 0, second = 0;        // where the two pixels are
        std::int32_t of_first = 0, of_second = 0;  // what they count, in parts of 2048
    };
    std::vector<Place> across, down;
    std::vector<std::int32_t> upper, lower;  // two rows, resized across
};

// INTER_LINEAR of 8-bit pixels. With `mirror` the result is flipped from left to right. Throws
// Error when a size is not positive or the part not inside the whole.
void resize_bilinear(const ImageView& source, const ResizeTarget& target, bool mirror,
                     Image& result, BilinearWorkspace& workspace);

// INTER_NEAREST: where the `count` places from `begin` on of a side of `to` pixels are taken from,
// on a side of `from` pixels.
void nearest_places(std::int64_t from, std::int64_t to, std::int64_t begin, std::int64_t count,
                    std::vector<std::int32_t>& places);

}  // namespace cait
