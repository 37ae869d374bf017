// The second stage of a detector: what its regions show is pooled from the maps of the pyramid that
// they belong to and goes through a network, some regions at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cait/tensor.h"
#include "kernels/thread_pool.h"
#include "models/executor.h"
#include "models/regions.h"

namespace cait {

// A part of the second stage.
struct RegionNetwork {
    const char* input = nullptr;  // [R, C, bins, bins]
    std::int64_t bins = 0;        // down and across
    std::vector<std::string> taps = {};
    std::size_t batch = 0;  // regions that go through together
};

// Memory for what is pooled, which runs share one after another.
struct PooledRegions {
    Tensor values;
};

// Whoever gets the outputs of regions [first, first + count), in the order of the taps.
using RegionOutputs =
    std::function<void(std::size_t first, std::size_t count, std::span<const Tensor> outputs)>;

// `pyramid` has kPooledLevels maps [1, C, h, w] of one image. Regions are in pixels of what the
// network sees. Throws NonFiniteLogits that begins with `name`, and Error for outputs whose first
// extent is not the number of regions.
void run_regions(const Executor& executor, const RegionNetwork& network,
                 std::span<const Tensor> pyramid, std::span<const Region> regions,
                 const RegionRules& rules, std::string_view name, kernels::ThreadPool& pool,
                 PooledRegions& memory, const RegionOutputs& use);

// Throws NonFiniteLogits, "NAME: TAP: expected finite numbers, found …".
void check_finite_tap(const Tensor& values, std::string_view tap, std::string_view name);

}  // namespace cait
