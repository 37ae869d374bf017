// What regions of a pyramid show, as grids of one size, with a gradient for its maps. On the CPU
// alone.
#pragma once

#include "train/torch/libtorch.h"

#include <memory>
#include <span>
#include <vector>

#include "kernels/thread_pool.h"
#include "models/regions.h"

namespace cait {

struct PooledRegion {
    std::int64_t image = 0;  // its row in the maps
    Region region;           // in pixels
};

// `maps`: the levels 0 … kPooledLevels - 1, [B, C, h, w] each; a region is pooled from the level
// that its size belongs to. [regions, C, bins, bins] float32, in their order. There is at least one
// region. Throws Error where a map is not on the CPU.
at::Tensor roi_align(std::span<const at::Tensor> maps, std::span<const PooledRegion> regions,
                     std::int64_t bins, const RegionRules& rules,
                     const std::shared_ptr<kernels::ThreadPool>& pool);

}  // namespace cait
