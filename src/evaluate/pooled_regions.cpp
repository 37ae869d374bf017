#include "evaluate/pooled_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cait/error.h"
#include "kernels/roi_align.h"
#include "models/finite_logits.h"
#include "weights/non_finite.h"

namespace cait {

namespace {

// Regions by level: those of one map are pooled together, each into its own place.
void pool_regions(const RegionNetwork& network, std::span<const Tensor> pyramid,
                  std::span<const Region> regions, const RegionRules& rules,
                  kernels::ThreadPool& pool, float* values) {
    const std::int64_t channels = pyramid[0].shape()[1];
    const std::int64_t each = channels * network.bins * network.bins;
    std::array<std::vector<kernels::Roi>, kPooledLevels> rois;
    std::array<std::vector<float*>, kPooledLevels> places;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const Region& region = regions[i];
        const std::size_t level = level_of(region, rules);
        rois[level].push_back({0, region.left, region.top, region.right, region.bottom});
        places[level].push_back(values + std::int64_t(i) * each);
    }
    for (std::size_t level = 0; level < kPooledLevels; ++level) {
        if (rois[level].empty()) continue;
        const Tensor& map = pyramid[level];
        const kernels::RoiAlignArgs args{.map = map.floats().data(),
                                         .channels = channels,
                                         .height = map.shape()[2],
                                         .width = map.shape()[3],
                                         .scale = 1 / float(level_stride(level)),
                                         .bins = network.bins,
                                         .sampling = rules.sampling,
                                         .aligned = rules.aligned};
        kernels::roi_align(pool, args, rois[level], places[level]);
    }
}

}  // namespace

void check_finite_tap(const Tensor& values, std::string_view tap, std::string_view name) {
    if (const auto bad = first_non_finite(values))
        throw NonFiniteLogits(fmt::format("{}: {}: expected finite numbers, found {}: {}", name,
                                          tap, bad->value, overflow_reason(0)));
}

void run_regions(const Executor& executor, const RegionNetwork& network,
                 std::span<const Tensor> pyramid, std::span<const Region> regions,
                 const RegionRules& rules, std::string_view name, kernels::ThreadPool& pool,
                 PooledRegions& memory, const RegionOutputs& use) {
    const std::int64_t channels = pyramid[0].shape()[1];
    const std::size_t most = std::min(network.batch, regions.size());
    const std::int64_t needed = std::int64_t(most) * channels * network.bins * network.bins;
    if (!memory.values.defined() || memory.values.count() < needed)
        memory.values = Tensor::empty(DType::f32, {needed});
    for (std::size_t first = 0; first < regions.size(); first += network.batch) {
        const std::size_t count = std::min(network.batch, regions.size() - first);
        pool_regions(network, pyramid, regions.subspan(first, count), rules, pool,
                     memory.values.mutable_floats().data());
        const Tensor input =
            Tensor::view(DType::f32, {std::int64_t(count), channels, network.bins, network.bins},
                         memory.values.bytes(), memory.values.owner());
        const auto found = executor.run(NamedInputs<Tensor>{{network.input, input}}, network.taps);
        std::vector<Tensor> outputs;
        for (const std::string& tap : network.taps) {
            const Tensor& output = outputs.emplace_back(found.at(tap));
            if (output.shape().rank() == 0 || output.shape()[0] != std::int64_t(count))
                throw Error(fmt::format("{}: {}: expected the output of {} regions, found {}", name,
                                        tap, count, output.shape().to_string()));
            check_finite_tap(output, tap, name);
        }
        use(first, count, outputs);
    }
}

}  // namespace cait
