// A mask that follows its image: resized by the nearest pixel, cut out, mirrored and padded, on its
// runs alone.
#pragma once

#include <cstdint>
#include <vector>

#include "base/image_size.h"
#include "data/geometry.h"
#include "image/masks/run_mask.h"

namespace cait {

// Moves the masks of one image, which have its size.
class MaskMover {
public:
    // `geometry` has to be scaled; `size` is that of what comes out, padding included.
    MaskMover(const Geometry& geometry, ImageSize size);

    RunMask moved(const RunMask& mask) const;

private:
    ImageSize size_;
    std::vector<std::int32_t> across_;  // of each column that is shown: the one it is taken from
    std::vector<std::int64_t> first_;   // of each row of the mask: the first that is taken from it
                                        // or from one below it; and how many are shown
};

}  // namespace cait
