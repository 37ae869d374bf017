#include "train/torch/roi_align_function.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "kernels/roi_align.h"
#include "train/torch/cpu_function.h"

namespace cait {

namespace {

using kernels::Index;
using kernels::Roi;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using At = at::Tensor;

struct RoiSettings {
    kernels::RoiAlignArgs args;
    std::vector<Roi> rois;
    std::vector<std::int64_t> sizes;  // of the map
    std::shared_ptr<kernels::ThreadPool> pool;
};

// One row of [rois, channels, bins, bins] for each.
template <class T>
std::vector<T*> rows_of_rois(T* first, const RoiSettings& settings) {
    const Index row = settings.args.channels * settings.args.bins * settings.args.bins;
    std::vector<T*> rows;
    for (std::size_t i = 0; i < settings.rois.size(); ++i) rows.push_back(first + Index(i) * row);
    return rows;
}

class RoiAlignFunction : public torch::autograd::Function<RoiAlignFunction> {
public:
    static At forward(AutogradContext* context, const At& map, const RoiSettings& settings) {
        hold(context, settings);
        kernels::RoiAlignArgs args = settings.args;
        args.map = floats_of(map);
        At result = at::empty(
            {std::int64_t(settings.rois.size()), args.channels, args.bins, args.bins}, at::kFloat);
        const std::vector<float*> rows = rows_of_rois(result.data_ptr<float>(), settings);
        kernels::roi_align(*settings.pool, args, settings.rois, rows);
        return result;
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto settings = held<RoiSettings>(context);
        const At dy = as_floats(gradients[0]);
        At dx = at::zeros(settings.sizes, at::kFloat);
        const std::vector<const float*> rows = rows_of_rois(floats_of(dy), settings);
        kernels::roi_align_backward(*settings.pool, settings.args, settings.rois, rows,
                                    dx.data_ptr<float>());
        return {dx, At()};
    }
};

}  // namespace

at::Tensor roi_align(std::span<const at::Tensor> maps, std::span<const PooledRegion> regions,
                     std::int64_t bins, const RegionRules& rules,
                     const std::shared_ptr<kernels::ThreadPool>& pool) {
    std::vector<at::Tensor> pooled;
    std::vector<std::int64_t> places(regions.size());  // of each region among those of all levels
    std::int64_t next = 0;
    for (std::size_t level = 0; level < maps.size(); ++level) {
        const at::Tensor& map = maps[level];
        if (!map.device().is_cpu())
            throw Error(
                fmt::format("[roi_align] expected maps on the CPU, found {}", map.device().str()));
        RoiSettings settings{.args = {.channels = map.size(1),
                                      .height = map.size(2),
                                      .width = map.size(3),
                                      .scale = 1 / float(level_stride(level)),
                                      .bins = bins,
                                      .sampling = rules.sampling,
                                      .aligned = rules.aligned},
                             .rois = {},
                             .sizes = map.sizes().vec(),
                             .pool = pool};
        for (std::size_t i = 0; i < regions.size(); ++i) {
            const auto& [image, region] = regions[i];
            if (level_of(region, rules) != level) continue;
            settings.rois.push_back({image, region.left, region.top, region.right, region.bottom});
            places[i] = next++;
        }
        if (!settings.rois.empty())
            pooled.push_back(RoiAlignFunction::apply(as_floats(map), settings));
    }
    return at::cat(pooled).index_select(0, at::tensor(places, at::kLong));
}

}  // namespace cait
