#include "evaluate/evaluation_loader.h"

#include <algorithm>

#include "image/preparer.h"

namespace cait {

std::unique_ptr<Loader> evaluation_loader(const DatasetPtr& dataset,
                                          const Preprocessing& preprocessing, ImageSize size,
                                          const EvaluationLoading& loading) {
    LoaderOptions options;
    options.height = size.height;
    options.width = size.width;
    options.threads = loading.threads;
    options.on_bad = loading.skip_bad ? OnBad::leave_out : OnBad::refuse;
    options.max_bad = loading.max_bad;
    options.report = loading.report;
    options.targets = loading.targets;
    const std::size_t share = std::max<std::size_t>(1, dataset->size() / loading.world);
    const Sampler sampler({.size = dataset->size(),
                           .batch = std::min(loading.batch, share),
                           .shuffle = false,
                           .rank = loading.rank,
                           .world = loading.world,
                           .tail = Tail::keep,
                           .stretches = dataset->stretches()});
    return std::make_unique<Loader>(
        dataset, sampler,
        FloatTransform([prepare = Preparer(preprocessing, size), size](
                           const Image& image, const SampleKey&, std::span<float> out) mutable {
            prepare(image, out);
            return Geometry{.image = {image.width, image.height},
                            .part = prepare.seen(image),
                            .shown = {size.width, size.height}};
        }),
        options);
}

}  // namespace cait
